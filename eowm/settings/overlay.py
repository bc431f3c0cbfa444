"""What a section of config.yaml may change: any setting of any method by its flat name."""

from functools import cache
from typing import Annotated, Any

from pydantic import Field, PlainValidator, WithJsonSchema, create_model

from eowm.settings.options import Options, Strict, known_methods, options_of
from eowm.settings.run import Net, Training


def overlay_model() -> type[Strict]:
    """All settings of the methods known now, each optional."""
    return _model(tuple(options_of(name) for name in known_methods()))


@cache
def _model(methods: tuple[type[Options], ...]) -> type[Strict]:
    fields: dict[str, Any] = {}
    models: list[type[Strict]] = [Net, Training, *methods]
    shared = Net.model_fields.keys() | Training.model_fields.keys() | {"precision"}
    for model in models:
        if issubclass(model, Options) and (taken := shared & model.model_fields.keys()):
            where = f"{model.__module__}.{model.__name__}"
            raise ValueError(f"{where}: {', '.join(taken)} is a setting of all methods")
        for name, field in model.model_fields.items():
            kind: Any = Annotated[(field.annotation, *field.metadata, None)]  # keeps the bounds
            told = [fields[name][1].description] if name in fields else []
            if field.description not in told:  # one name may mean two things in two methods
                told.append(field.description)
            if name in fields:  # and have other bounds: `resolve` checks those of the method
                kind = fields[name][0] | kind
            described = "; ".join(text for text in told if text)
            fields[name] = (kind | None, Field(None, description=described))
    return create_model("Overlay", __base__=Strict, **fields)


def _checked(values: Any) -> dict[str, Any]:
    return overlay_model().model_validate(values).model_dump(exclude_unset=True)


# In a JSON schema, a comment stands for what `overlay_model` describes once.
IN_SCHEMA = {"type": "object", "$comment": "Overlay"}
Overlay = Annotated[dict[str, Any], PlainValidator(_checked), WithJsonSchema(IN_SCHEMA)]
