"""What organisers see and do; for anybody else there is nothing here."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, cast
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db.models import Count, Prefetch, Q, QuerySet
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from capeval.errors import CapevalError
from capeval_server.challenges.access import makes_challenges, organised
from capeval_server.challenges.models import Challenge, Phase, ReferenceSet, ReferenceVersion
from capeval_server.organising import drafts, editing, managing, overview
from capeval_server.organising.describing import describe_phase, fingerprint, to_toml
from capeval_server.organising.exporting import exported
from capeval_server.organising.files import apply_files, preview_files
from capeval_server.organising.models import Action
from capeval_server.pages import organiser_forms
from capeval_server.pages.labels import label
from capeval_server.submissions.models import UNFINISHED, Result, Score, Submission

__all__ = ["urlpatterns"]

_PAGE = 50
_LATEST = 8
# On how many metrics a submission failed.
_FAILURES = Count("results__metric", filter=Q(results__failure__gt=""), distinct=True)
View = Callable[..., HttpResponseBase]


def _storing(view: View) -> View:
    """Says so when files can't be stored, as when the disk is full."""

    @wraps(view)
    def answer(request: HttpRequest, *arguments: Any, **named: Any) -> HttpResponseBase:
        try:
            return view(request, *arguments, **named)
        except OSError:
            return render(request, "503.html", status=503)

    return answer


def _organiser(view: View) -> View:
    """Lets organisers of a challenge in, and gives the view the challenge for its name."""

    @never_cache
    @wraps(view)
    def answer(request: HttpRequest, slug: str, **named: Any) -> HttpResponseBase:
        return view(request, organised(request.user, slug), **named)

    return answer


def _maker(view: View) -> View:
    """Lets those in who may make challenges."""

    @never_cache
    @wraps(view)
    def answer(request: HttpRequest) -> HttpResponseBase:
        if not makes_challenges(request.user):
            raise Http404
        return view(request)

    return answer


def _user(request: HttpRequest) -> User:
    """Who asks: someone who has logged in, or no view is reached."""
    return cast(User, request.user)


def _page(
    request: HttpRequest, challenge: Challenge, page: str, *, status: int = 200, **context: Any
) -> HttpResponse:
    context = {"challenge": challenge, "now": timezone.now(), **context}
    return render(request, f"pages/organiser/{page}.html", context, status=status)


def _form_status(*sent: forms.Form | forms.BaseFormSet[Any]) -> int:
    """The status of a page with forms: of those that were sent, all are right, or the answer says so."""
    return 422 if any(form.is_bound and not form.is_valid() for form in sent) else 200


@_organiser
@require_safe
def overview_page(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """How the challenge goes."""
    failed = managing.repeatable(challenge, failed=True).annotate(failures=_FAILURES)
    waiting = managing.of_challenge(challenge).filter(state__in=UNFINISHED)
    return _page(
        request,
        challenge,
        "overview",
        tab="overview",
        phases=overview.phases_of(challenge),
        states=overview.states_of(challenge),
        waiting=waiting.order_by("created")[:_LATEST],
        failed=failed.order_by("-created")[:_LATEST],
        latest=managing.of_challenge(challenge).order_by("-created")[:_LATEST],
        actions=_actions(challenge)[:_LATEST],
        teams=challenge.teams.count(),
    )


def _actions(challenge: Challenge) -> QuerySet[Action]:
    return challenge.actions.select_related("submission", "team").order_by("-time", "-pk")


@_organiser
@require_safe
def trail(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """What organisers did."""
    return _page(request, challenge, "trail", tab="trail", **_paged(request, _actions(challenge)))


def _paged(request: HttpRequest, rows: QuerySet[Any]) -> dict[str, Any]:
    """The page that was asked for, the numbers of others near it, and what else was asked for."""
    found = Paginator(rows, _PAGE).get_page(request.GET.get("page"))
    asked = request.GET.copy()
    asked.pop("page", None)
    numbers = list(found.paginator.get_elided_page_range(found.number))
    return {"found": found, "numbers": numbers, "query": asked.urlencode()}


@_organiser
def edit(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """Changes texts and declared fields."""
    about = editing.about_of(challenge)
    form = organiser_forms.AboutForm(request.POST or None, initial={**about, "seen": fingerprint(about)})
    fields = organiser_forms.FieldSet(request.POST or None, initial=about["fields"], prefix="fields")
    if request.method == "POST" and form.is_valid() and fields.is_valid():
        given = form.cleaned_data
        wanted = {name: given[name].replace("\r\n", "\n") for name in ("title", "description", "rules")}
        wanted["fields"] = organiser_forms.declared(fields)
        try:
            changed = editing.edit_about(_user(request), challenge, wanted, seen=given["seen"])
        except editing.FieldsError as error:
            organiser_forms.show_problems(form, error)
        except CapevalError as error:
            shown = {"fields": fields, "current": about, "phases": _phases(challenge)}
            return _conflict(request, challenge, error, form, "edit", **shown)
        else:
            _tell(request, f"Saved: {', '.join(changed)}." if changed else "Nothing changed.")
            return redirect("organiser_edit", challenge.slug)
    shown = {"form": form, "fields": fields, "phases": _phases(challenge)}
    return _page(request, challenge, "edit", tab="edit", **shown, status=_form_status(form, fields))


def _phases(challenge: Challenge) -> QuerySet[Phase]:
    return challenge.phases.order_by("opens", "name")


def _conflict(
    request: HttpRequest,
    challenge: Challenge,
    error: CapevalError,
    form: forms.Form,
    page: str,
    **context: Any,
) -> HttpResponse:
    """What was sent stays in the form, beside what is there by now; sent again, it replaces that."""
    form.add_error(None, f"{error}. Look at what it is now, below; saving again replaces it.")
    data = form.data.copy()  # type: ignore[attr-defined]
    data["seen"] = fingerprint(context["current"])
    form.data = data
    return _page(request, challenge, page, tab="edit", form=form, status=409, **context)


def _tell(request: HttpRequest, text: str) -> None:
    messages.success(request, text)


@_organiser
def phase(request: HttpRequest, challenge: Challenge, phase: str | None = None) -> HttpResponse:
    """Changes a phase, or adds one."""
    found = None if phase is None else get_object_or_404(challenge.phases, name=phase)
    initial = describe_phase(found) if found else {"quota_per_day": 5, "quota_total": 100}
    seen = fingerprint(initial) if found else ""
    form = organiser_forms.PhaseForm(
        challenge, found, request.POST or None, initial={**initial, "seen": seen}
    )
    if request.method == "POST" and form.is_valid():
        wanted = {name: value for name, value in form.cleaned_data.items() if name != "seen"}
        given = form.cleaned_data["seen"] if found else None
        try:
            changed = editing.edit_phase(_user(request), challenge, wanted, seen=given)
        except editing.FieldsError as error:
            organiser_forms.show_problems(form, error)
        except CapevalError as error:
            return _conflict(request, challenge, error, form, "phase", phase=found, current=initial)
        else:
            name = wanted["name"]
            done = "Saved" if found else "Added"
            _tell(request, f"{done} phase {name}." if changed else "Nothing changed.")
            return redirect("organiser_phase", challenge.slug, name)
    return _page(request, challenge, "phase", tab="edit", form=form, phase=found, status=_form_status(form))


@_organiser
@require_safe
def references(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """The reference sets and their versions; never what is in them."""
    return _references(request, challenge)


def _references(
    request: HttpRequest,
    challenge: Challenge,
    *,
    wrong: ReferenceSet | None = None,
    form: forms.Form | None = None,
) -> HttpResponse:
    versions = Prefetch("reference_sets__versions", ReferenceVersion.objects.order_by("-number"))
    splits = challenge.splits.prefetch_related("reference_sets", versions).order_by("name")
    return _page(
        request,
        challenge,
        "references",
        tab="references",
        splits=splits,
        blank=organiser_forms.ReferencesForm(),
        wrong=wrong,
        form=form,
        status=_form_status(form) if form else 200,
    )


def _reference_set(challenge: Challenge, split: str, references: str) -> ReferenceSet:
    sets = ReferenceSet.objects.select_related("split__challenge")
    return get_object_or_404(sets, split__challenge=challenge, split__name=split, name=references)


@_organiser
@require_POST
@_storing
def send_references(request: HttpRequest, challenge: Challenge, split: str, references: str) -> HttpResponse:
    """Takes a file of references, and says what publishing it would do."""
    entry = _reference_set(challenge, split, references)
    form = organiser_forms.ReferencesForm(request.POST, request.FILES)
    if form.is_valid():
        name, data = form.cleaned_data["file"].name, form.cleaned_data["file"].read()
        try:
            found = editing.check_references(entry, name, data)
        except CapevalError as error:
            form.add_error("file", str(error))
        else:
            drafts.keep_draft(_user(request), challenge, f"references-{entry.pk}", data)
            sent = {"sha256": found.sha256, "seen": entry.version, "name": name}
            confirm = organiser_forms.ConfirmForm(initial=sent)
            shown = {"entry": entry, "found": found, "form": confirm, "file_name": name}
            return _page(request, challenge, "publish", tab="references", **shown)
    return _references(request, challenge, wrong=entry, form=form)


@_organiser
@require_POST
@_storing
def publish_references(
    request: HttpRequest, challenge: Challenge, split: str, references: str
) -> HttpResponse:
    """Publishes the file of references that was sent before."""
    entry = _reference_set(challenge, split, references)
    form = organiser_forms.ConfirmForm(request.POST)
    user, kind = _user(request), f"references-{entry.pk}"
    if form.is_valid() and form.cleaned_data["seen"].isdecimal():
        given = form.cleaned_data
        try:
            data = drafts.read_draft(user, challenge, kind, given["sha256"])
            number = editing.publish_references(user, entry, given["name"], data, seen=int(given["seen"]))
        except CapevalError as error:
            messages.error(request, f"Nothing is published: {error}.")
        else:
            drafts.drop_draft(user, challenge, kind)
            _tell(request, f"Version {number} of {entry.name} counts now; submissions are scored again.")
    return redirect("organiser_references", challenge.slug)


@_organiser
@_storing
def files(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """Takes a zip of the challenge's files, and shows what would change."""
    return _files(request, challenge)


@_maker
@_storing
def new(request: HttpRequest) -> HttpResponse:
    """Takes a zip of a new challenge's files, and shows what would be made."""
    return _files(request, None)


def _files(request: HttpRequest, challenge: Challenge | None) -> HttpResponse:
    context: dict[str, Any] = {"challenge": challenge, "tab": "files"}
    form = organiser_forms.FilesForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            data = form.cleaned_data["file"].read()
            preview = preview_files(challenge, [data])
        except CapevalError as error:
            form.add_error("file", str(error))
        else:
            sha256 = drafts.keep_draft(_user(request), challenge, "files", data)
            context["confirm"] = organiser_forms.ConfirmForm(initial={"sha256": sha256, "seen": preview.seen})
            context["preview"] = preview
    return render(request, "pages/organiser/files.html", {**context, "form": form}, status=_form_status(form))


@_organiser
@require_POST
@_storing
def apply_to(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """Applies the zip that was sent before."""
    return _apply(request, challenge)


@_maker
@require_POST
@_storing
def apply_new(request: HttpRequest) -> HttpResponse:
    """Makes a challenge of the zip that was sent before."""
    return _apply(request, None)


def _apply(request: HttpRequest, challenge: Challenge | None) -> HttpResponse:
    form = organiser_forms.ConfirmForm(request.POST)
    user = _user(request)
    if form.is_valid():
        given = form.cleaned_data
        try:
            data = drafts.read_draft(user, challenge, "files", given["sha256"])
            changed = apply_files(user, challenge, [data], seen=given["seen"])
        except CapevalError as error:
            messages.error(request, f"Nothing changed: {error}.")
        else:
            drafts.drop_draft(user, challenge, "files")
            _tell(request, "The challenge is what the files say." if challenge else "The challenge is made.")
            return redirect("organiser_overview", changed.slug)
    return redirect("organiser_files", challenge.slug) if challenge else redirect("organiser_new")


@_organiser
@require_safe
def definition(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """The definition as it is now."""
    answer = HttpResponse(to_toml(challenge), content_type="application/toml; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="challenge.toml"'
    return answer


@_organiser
@require_safe
def submissions(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """All submissions, or some of them."""
    form = organiser_forms.FilterForm(challenge, request.GET)
    given = form.cleaned_data if form.is_valid() else {}
    listed = managing.of_challenge(challenge).annotate(failures=_FAILURES).order_by("-created", "-pk")
    for name in ("state", "mark"):
        if given.get(name):
            listed = listed.filter(**{name: "" if given[name] == "none" else given[name]})
    if given.get("phase"):
        listed = listed.filter(phase__name=given["phase"])
    if given.get("team"):
        listed = listed.filter(team__name__icontains=given["team"])
    if given.get("failures"):
        listed = listed.filter(failures__gt=0)
    some = any(given.values())
    return _page(
        request, challenge, "submissions", tab="submissions", form=form, some=some, **_paged(request, listed)
    )


def _submission(challenge: Challenge, pk: UUID) -> Submission:
    return get_object_or_404(managing.of_challenge(challenge), pk=pk)


@_organiser
@require_safe
def submission(request: HttpRequest, challenge: Challenge, pk: UUID) -> HttpResponse:
    """A submission with its scores, failures and logs."""
    found = _submission(challenge, pk)
    form = organiser_forms.MarkForm(initial={"mark": found.mark, "reason": found.mark_reason})
    return _show_submission(request, challenge, found, form)


def _show_submission(
    request: HttpRequest, challenge: Challenge, found: Submission, form: forms.Form
) -> HttpResponse:
    scores = Score.objects.filter(subset="").defer("samples").order_by("pk")
    results = (
        Result.objects.filter(submission=found)
        .select_related("reference_version__reference_set__split")
        .defer("reference_version__reference_set__split__image_ids")
        .prefetch_related(Prefetch("scores", scores))
        .order_by("reference_version__reference_set_id", "-reference_version__number", "pk")
    )
    return _page(
        request,
        challenge,
        "submission",
        tab="submissions",
        submission=found,
        results=results,
        files=found.files.select_related("split").defer("split__image_ids").order_by("split__name"),
        actions=_actions(challenge).filter(submission=found),
        form=form,
        declared=[
            (label(field["name"]), found.declared.get(field["name"], "")) for field in challenge.fields
        ],
        logs=bool(found.log) or any(result.log for result in results),
        status=_form_status(form),
    )


@_organiser
@require_POST
def rerun_one(request: HttpRequest, challenge: Challenge, pk: UUID) -> HttpResponse:
    """Has a submission scored again."""
    return _done(
        request,
        challenge,
        pk,
        lambda found: managing.rerun(_user(request), challenge, found),
        "It waits to be scored again.",
    )


@_organiser
@require_POST
def take_off(request: HttpRequest, challenge: Challenge, pk: UUID) -> HttpResponse:
    """Takes a submission off the leaderboard."""
    return _done(
        request,
        challenge,
        pk,
        lambda found: managing.take_off(_user(request), challenge, found),
        "It is off the leaderboard.",
    )


def _done(
    request: HttpRequest, challenge: Challenge, pk: UUID, act: Callable[[Submission], None], text: str
) -> HttpResponse:
    found = _submission(challenge, pk)
    try:
        act(found)
    except CapevalError as error:
        messages.error(request, f"{error}.")
    else:
        _tell(request, text)
    return redirect("organiser_submission", challenge.slug, pk)


@_organiser
@require_POST
def mark(request: HttpRequest, challenge: Challenge, pk: UUID) -> HttpResponse:
    """Flags or hides a submission, or takes the mark off."""
    found = _submission(challenge, pk)
    form = organiser_forms.MarkForm(request.POST)
    if form.is_valid():
        given = form.cleaned_data
        try:
            managing.mark(_user(request), challenge, found, given["mark"], given["reason"])
        except CapevalError as error:
            form.add_error("reason", str(error))
        else:
            _tell(request, "The mark is saved." if given["mark"] else "The submission has no mark.")
            return redirect("organiser_submission", challenge.slug, pk)
    return _show_submission(request, challenge, found, form)


@_organiser
def rerun_many(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """Says how many submissions would be scored again, and has them."""
    form = organiser_forms.RerunForm(challenge, request.POST or request.GET or None)
    if not form.is_valid():
        return _page(request, challenge, "rerun", tab="submissions", form=form, status=_form_status(form))
    chosen: Phase | None = challenge.phases.filter(name=form.cleaned_data["phase"]).first()
    failed = form.cleaned_data["which"] == "failed"
    if request.method == "POST":
        number = managing.rerun_all(_user(request), challenge, phase=chosen, failed=failed)
        _tell(request, f"{number} submissions wait to be scored again.")
        return redirect("organiser_submissions", challenge.slug)
    number = managing.repeatable(challenge, phase=chosen, failed=failed).count()
    return _page(request, challenge, "rerun", tab="submissions", form=form, number=number, asked=True)


@_organiser
@require_safe
def teams(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """The teams, their members, and what they used of the quotas."""
    listed = challenge.teams.prefetch_related("memberships__user").order_by("name")
    paged = _paged(request, listed)
    uses = overview.use_of(challenge, paged["found"].object_list)
    return _page(request, challenge, "teams", tab="teams", teams=uses, **paged)


@_organiser
def team(request: HttpRequest, challenge: Challenge, pk: int) -> HttpResponse:
    """A team; gives it more of a phase's quota."""
    found = get_object_or_404(challenge.teams.prefetch_related("memberships__user"), pk=pk)
    form = None
    if request.method == "POST":
        form = organiser_forms.RaiseForm(challenge, request.POST)
        if form.is_valid():
            given = form.cleaned_data
            chosen = challenge.phases.get(name=given["phase"])
            managing.raise_quota(
                _user(request), found, chosen, per_day=given["per_day"], total=given["total"]
            )
            _tell(request, f"The team's quota in phase {chosen.name} is changed.")
            return redirect("organiser_team", challenge.slug, pk)
    (use,) = overview.use_of(challenge, [found])
    return _page(
        request,
        challenge,
        "team",
        tab="teams",
        team=found,
        use=use,
        raises=[(each, _raise_form(challenge, each, form)) for each in use.uses],
        submissions=managing.of_challenge(challenge).filter(team=found).order_by("-created")[:_PAGE],
        actions=_actions(challenge).filter(team=found)[:_LATEST],
        status=_form_status(form) if form else 200,
    )


def _raise_form(challenge: Challenge, use: overview.Use, sent: forms.Form | None) -> forms.Form:
    """The form of one phase: as it was sent, where it was that one."""
    if sent is not None and sent.data.get("phase") == use.phase.name:
        return sent
    given = (use.raised.per_day, use.raised.total) if use.raised else (0, 0)
    initial = {"phase": use.phase.name, "per_day": given[0], "total": given[1]}
    return organiser_forms.RaiseForm(challenge, initial=initial, auto_id=f"id_{use.phase.name}_%s")


@_organiser
def organisers(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """Who organises the challenge; adds one."""
    form = organiser_forms.OrganiserForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            added = managing.add_organiser(_user(request), challenge, form.cleaned_data["username"])
        except CapevalError as error:
            form.add_error("username", str(error))
        else:
            _tell(request, f"{added.username} is an organiser.")
            return redirect("organiser_organisers", challenge.slug)
    shown = challenge.organisers.order_by("username")
    return _page(
        request,
        challenge,
        "organisers",
        tab="organisers",
        form=form,
        organisers=shown,
        status=_form_status(form),
    )


@_organiser
@require_POST
def remove_organiser(request: HttpRequest, challenge: Challenge, pk: int) -> HttpResponse:
    """Has somebody organise the challenge no more."""
    removed = get_object_or_404(challenge.organisers, pk=pk)
    try:
        managing.remove_organiser(_user(request), challenge, removed)
    except CapevalError as error:
        messages.error(request, f"{error}.")
    else:
        _tell(request, f"{removed.username} is no organiser any more.")
        if removed == request.user and not removed.is_staff:
            return redirect("/")
    return redirect("organiser_organisers", challenge.slug)


@_organiser
@require_safe
@_storing
def export_page(request: HttpRequest, challenge: Challenge) -> FileResponse:
    """Everything of the challenge, as a zip."""
    name = f"{challenge.slug}-{timezone.now():%Y-%m-%d}.zip"
    return FileResponse(
        exported(challenge), as_attachment=True, filename=name, content_type="application/zip"
    )


def _at(place: str, view: View, name: str) -> Any:
    return path(f"<slug:slug>/organise/{place}", view, name=f"organiser_{name}")


urlpatterns = [
    path("new/", new, name="organiser_new"),
    path("new/apply/", apply_new, name="organiser_apply_new"),
    _at("", overview_page, "overview"),
    _at("trail/", trail, "trail"),
    _at("edit/", edit, "edit"),
    _at("phases/", phase, "add_phase"),
    _at("phases/<slug:phase>/", phase, "phase"),
    _at("references/", references, "references"),
    _at("references/<slug:split>/<slug:references>/", send_references, "send_references"),
    _at("references/<slug:split>/<slug:references>/publish/", publish_references, "publish_references"),
    _at("files/", files, "files"),
    _at("files/apply/", apply_to, "apply"),
    _at("files/challenge.toml", definition, "definition"),
    _at("submissions/", submissions, "submissions"),
    _at("submissions/<uuid:pk>/", submission, "submission"),
    _at("submissions/<uuid:pk>/rerun/", rerun_one, "rerun_one"),
    _at("submissions/<uuid:pk>/mark/", mark, "mark"),
    _at("submissions/<uuid:pk>/off/", take_off, "take_off"),
    _at("rerun/", rerun_many, "rerun"),
    _at("teams/", teams, "teams"),
    _at("teams/<int:pk>/", team, "team"),
    _at("organisers/", organisers, "organisers"),
    _at("organisers/<int:pk>/remove/", remove_organiser, "remove_organiser"),
    _at("export/", export_page, "export"),
]
