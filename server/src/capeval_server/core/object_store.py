"""Files in a store that speaks S3, for servers whose workers are on other hosts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.core.files import File
from storages.backends.s3 import S3Storage

__all__ = ["ObjectStore"]

# Larger files are on the disk while they are read.
_IN_MEMORY = 2**23
_CONNECT_SECONDS, _READ_SECONDS, _ATTEMPTS = 5, 30, 3


class ObjectStore(S3Storage):  # type: ignore[misc]
    """Django's storage of files in a bucket. What fails is an `OSError`, as with files on a disk."""

    def __init__(self, **options: Any) -> None:
        own = any(name in os.environ for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"))
        config = Config(
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_READ_SECONDS,
            retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
            # A bucket of another store than Amazon's seldom has a host name of its own.
            s3={"addressing_style": "path" if own else "auto"},
            # Other stores than Amazon's may not know its newer checksums.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        super().__init__(file_overwrite=False, max_memory_size=_IN_MEMORY, client_config=config, **options)

    def check(self) -> None:
        """Asks for the bucket.

        Raises:
            OSError: It does not answer, or there is none.
        """
        with _as_of_files(self.bucket_name):
            self.connection.meta.client.head_bucket(Bucket=self.bucket_name)

    def exists(self, name: str) -> bool:
        """Whether there is a file."""
        with _as_of_files(name):
            return bool(super().exists(name))

    def delete(self, name: str) -> None:
        """Deletes a file, if it is there."""
        with _as_of_files(name):
            super().delete(name)

    def listdir(self, name: str) -> tuple[list[str], list[str]]:
        """The folders and the files of a folder."""
        with _as_of_files(name):
            folders, files = super().listdir(name)
        return folders, files

    def size(self, name: str) -> int:
        """The bytes of a file."""
        with _as_of_files(name):
            return int(super().size(name))

    def get_modified_time(self, name: str) -> datetime:
        """When a file was stored, by the store's clock."""
        with _as_of_files(name):
            time: datetime = super().get_modified_time(name)
        return time

    def _open(self, name: str, mode: str = "rb") -> File[bytes]:
        """A file, fetched whole: nothing can fail while it is read."""
        with _as_of_files(name):
            file: File[bytes] = super()._open(name, mode)
            file.open()
        return file

    def _save(self, name: str, content: Any) -> str:
        with _as_of_files(name):
            return str(super()._save(name, content))


@contextmanager
def _as_of_files(name: str) -> Iterator[None]:
    """Turns errors of the store into those of files.

    Raises:
        FileNotFoundError: There is no such file.
        OSError: The store does not answer, or refuses.
    """
    try:
        yield
    except ClientError as error:
        if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == 404:
            raise FileNotFoundError(f"{name} is not in the store of files") from error
        raise OSError(f"the store of files refused {name}: {error}") from error
    except (BotoCoreError, Boto3Error) as error:
        raise OSError(f"the store of files does not answer: {error}") from error
