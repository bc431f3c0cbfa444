import hashlib
import pickle

import pytest

from eowm.data import decode
from eowm.data.decode import Damaged


def test_sha256_is_over_the_four_arrays_in_order(tiny):
    decoded = tiny("mnist").decoded
    joined = b"".join(array.tobytes() for array in vars(decoded).values())
    assert list(vars(decoded)) == ["train_images", "train_labels", "test_images", "test_labels"]
    assert decode.sha256(decoded) == hashlib.sha256(joined).hexdigest()


class Evil:
    def __reduce__(self):
        return (print, ("run by a pickle",))


def test_a_pickle_cannot_run_anything(capsys):
    with pytest.raises(pickle.UnpicklingError, match="is not allowed in a dataset"):
        decode.cifar_batch(pickle.dumps(Evil(), protocol=2))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("content", [b"<html>404</html>", b"", b"\x80\x02]q\x00."])
def test_wrong_registry_files_are_named(tmp_path, content):
    path = tmp_path / "a file"
    path.write_bytes(content)
    with pytest.raises(Damaged, match=r"^a file is not a picture"):
        decode.png_batch(path, (3, 32, 32))
    with pytest.raises(Damaged, match=r"^a file is not a list of labels"):
        decode.json_labels(path)
