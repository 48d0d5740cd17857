"""Keys of owners and invitations: signed statements, checked without a lookup. The book says which were revoked or used."""

import secrets
from typing import Final

from service.rpc.auth import BadHandle, Signer, Unauthenticated

_OWNER: Final = "owner"
_INVITATION: Final = "invitation"
#: Keys do not expire; they are rotated or revoked.
_LIFE_S: Final = 100 * 365 * 24 * 3600
#: The name under which the book keeps the secret that signs them.
SECRET: Final = "owner keys"


class OwnerKeys:
    """Signs and reads keys of owners and invitations."""

    def __init__(self, secret: str) -> None:
        self._signer = Signer([secret])

    def key(self, owner: str, generation: int) -> str:
        """A key of an owner; keys of earlier generations are revoked."""
        return self._signer.sign_blob(_OWNER, (owner, generation), self._signer.expires_in(_LIFE_S)).decode()

    def read(self, token: str) -> tuple[str, int]:
        """The owner of a key and its generation. Raises Unauthenticated."""
        try:
            return self._signer.open_blob(_OWNER, token.encode(), tuple[str, int])
        except (BadHandle, UnicodeError):
            raise Unauthenticated(
                "BAD_TOKEN",
                "this is neither the operator's token nor the key of an owner of this arena; expected one of them whole, "
                "an owner key as `rubble owner signup` wrote it, or none to read; the organiser replaces a lost key: "
                "rubble owner rotate NAME",
            ) from None

    def invitation(self, ladder: str) -> str:
        """An invitation to a ladder, to be used once."""
        payload = (ladder, secrets.token_hex(16))
        return self._signer.sign_blob(_INVITATION, payload, self._signer.expires_in(_LIFE_S)).decode()

    def read_invitation(self, text: str) -> tuple[str, str]:
        """The ladder of an invitation and the number that makes it unique. Raises BadHandle."""
        return self._signer.open_blob(_INVITATION, text.encode("utf-8", "replace"), tuple[str, str])
