"""Workers of a campaign with email addresses of one mailbox in different accounts.

They are only flagged, because a family or a laboratory may share a mailbox. Addresses are never shown.
"""

from __future__ import annotations

from allauth.account.models import EmailAddress

from capeval_server.annotation.models import Campaign, Participation

__all__ = ["find_same_mailboxes", "mailbox_of"]

# Google Mail ignores dots in the name, and delivers mail to both domains.
_GOOGLE_MAIL = ("gmail.com", "googlemail.com")


def mailbox_of(address: str) -> str:
    """Return the mailbox that receives the mail for an address, without case and `+tag`.

    >>> mailbox_of("Ann.Lee+turk@GoogleMail.com")
    'annlee@gmail.com'
    >>> mailbox_of("Ann.Lee+turk@example.org")
    'ann.lee@example.org'
    """
    name, _, domain = address.lower().rpartition("@")
    # A name that begins with "+" has no other part.
    name = name[:1] + name[1:].partition("+")[0]
    if domain in _GOOGLE_MAIL:
        return f"{name.replace('.', '')}@{_GOOGLE_MAIL[0]}"
    return f"{name}@{domain}"


def find_same_mailboxes(campaign: Campaign) -> dict[int, list[str]]:
    """Return the workers with a common mailbox, by their participations after consent.

    Returns:
        By participation, the pseudonyms of the other workers whose accounts have a verified address of the
        same mailbox, in order of arrival. Participations without such workers are omitted.
    """
    rows = campaign.participations.exclude(stage=Participation.Stage.INVITED).order_by("pk")
    names = ("pk", "worker__pseudonym", "worker__user", "worker__account")
    workers = {
        key: (pseudonym, user or account)
        for key, pseudonym, user, account in rows.values_list(*names)
        if user or account
    }
    accounts = {account for _, account in workers.values()}
    verified = EmailAddress.objects.filter(user__in=accounts, verified=True)
    mailboxes: dict[int, set[str]] = {}
    for account, address in verified.values_list("user", "email"):
        mailboxes.setdefault(account, set()).add(mailbox_of(address))
    owners: dict[str, set[int]] = {}
    for account, own in mailboxes.items():
        for mailbox in own:
            owners.setdefault(mailbox, set()).add(account)
    found: dict[int, list[str]] = {}
    for key, (_, account) in workers.items():
        sharing = set().union(*(owners[mailbox] for mailbox in mailboxes.get(account, ()))) - {account}
        if sharing:
            found[key] = [pseudonym for pseudonym, other in workers.values() if other in sharing]
    return found
