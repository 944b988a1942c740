"""Worker pages of a campaign: enrollment, consent, training and answering."""

from django.urls import path

from capeval_server.http.read_limits import without_read_limit
from capeval_server.web.worker import enrollment, responses, session_end, training, withdrawal

__all__ = ["urlpatterns"]

urlpatterns = [
    path("annotate/<slug:slug>/", responses.show_work, name="annotate"),
    path("annotate/<slug:slug>/rules/", responses.show_rules, name="annotate_rules"),
    path("annotate/<slug:slug>/agree/", enrollment.agree, name="annotate_agree"),
    path("annotate/<slug:slug>/enter/", enrollment.enter_from_panel, name="annotate_panel"),
    path("annotate/<slug:slug>/finish/", session_end.finish, name="annotate_finish"),
    path("annotate/<slug:slug>/enter/<str:token>/", enrollment.enter, name="annotate_enter"),
    path("annotate/<slug:slug>/training/", training.go_on, name="annotate_training"),
    path("annotate/<slug:slug>/warnings/", enrollment.warnings, name="annotate_warnings"),
    path("annotate/<slug:slug>/renew/", responses.renew, name="annotate_renew"),
    path("annotate/<slug:slug>/leave/", withdrawal.leave, name="annotate_leave"),
    path("annotate/<slug:slug>/<uuid:lease>/answer/", responses.answer, name="annotate_answer"),
    path("annotate/<slug:slug>/<uuid:lease>/check/", responses.check, name="annotate_check"),
    path("annotate/<slug:slug>/<uuid:lease>/draft/", responses.save_draft, name="annotate_draft"),
    path("annotate/<slug:slug>/<uuid:lease>/aside/", responses.set_aside, name="annotate_aside"),
    path("annotate/<slug:slug>/<uuid:lease>/image/<slug:size>/", responses.image, name="annotate_image"),
]
for _pattern in urlpatterns:
    # Many annotators may work at one place, and each has a link or an account.
    without_read_limit(_pattern.callback)
