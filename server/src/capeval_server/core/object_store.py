"""File storage in an S3-compatible object store, for workers on other hosts."""

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

# Larger files are stored on disk while they are read.
_IN_MEMORY = 2**23
_CONNECT_SECONDS, _READ_SECONDS, _ATTEMPTS = 5, 30, 3


class ObjectStore(S3Storage):  # type: ignore[misc]
    """Django file storage in a bucket. Failures are `OSError`, as with local files."""

    def __init__(self, **options: Any) -> None:
        own = any(name in os.environ for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"))
        config = Config(
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_READ_SECONDS,
            retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
            # Buckets of other stores than Amazon's seldom have their own host name.
            s3={"addressing_style": "path" if own else "auto"},
            # Other stores may not support Amazon's newer checksums.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        super().__init__(file_overwrite=False, max_memory_size=_IN_MEMORY, client_config=config, **options)

    def check(self) -> None:
        """Check that the bucket is reachable.

        Raises:
            OSError: The store does not respond, or the bucket does not exist.
        """
        with _convert_errors(self.bucket_name):
            self.connection.meta.client.head_bucket(Bucket=self.bucket_name)

    def exists(self, name: str) -> bool:
        """Return whether a file exists."""
        with _convert_errors(name):
            return bool(super().exists(name))

    def delete(self, name: str) -> None:
        """Delete a file, if it exists."""
        with _convert_errors(name):
            super().delete(name)

    def listdir(self, name: str) -> tuple[list[str], list[str]]:
        """Return the folders and the files of a folder."""
        with _convert_errors(name):
            folders, files = super().listdir(name)
        return folders, files

    def size(self, name: str) -> int:
        """Return the size of a file in bytes."""
        with _convert_errors(name):
            return int(super().size(name))

    def get_modified_time(self, name: str) -> datetime:
        """Return the time when a file was stored, by the store's clock."""
        with _convert_errors(name):
            time: datetime = super().get_modified_time(name)
        return time

    def _open(self, name: str, mode: str = "rb") -> File[bytes]:
        """Return a file that is fetched completely, so that reading it cannot fail later."""
        with _convert_errors(name):
            file: File[bytes] = super()._open(name, mode)
            file.open()
        return file

    def _save(self, name: str, content: Any) -> str:
        with _convert_errors(name):
            return str(super()._save(name, content))


@contextmanager
def _convert_errors(name: str) -> Iterator[None]:
    """Convert errors of the store into file errors.

    Raises:
        FileNotFoundError: The file does not exist.
        OSError: The store does not respond, or rejects the request.
    """
    try:
        yield
    except ClientError as error:
        if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == 404:
            raise FileNotFoundError(f"{name} is not in the object store") from error
        raise OSError(f"the object store rejected {name}: {error}") from error
    except (BotoCoreError, Boto3Error) as error:
        raise OSError(f"the object store does not respond: {error}") from error
