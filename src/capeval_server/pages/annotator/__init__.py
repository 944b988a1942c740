"""The pages of who works on a campaign: coming in, agreeing, answering."""

from django.urls import path

from capeval_server.pages.annotator import answering, ending, entering, leaving, training

__all__ = ["urlpatterns"]

urlpatterns = [
    path("annotate/<slug:slug>/", answering.show_work, name="annotate"),
    path("annotate/<slug:slug>/rules/", answering.show_rules, name="annotate_rules"),
    path("annotate/<slug:slug>/agree/", entering.agree, name="annotate_agree"),
    path("annotate/<slug:slug>/enter/", entering.enter_from_panel, name="annotate_panel"),
    path("annotate/<slug:slug>/finish/", ending.finish, name="annotate_finish"),
    path("annotate/<slug:slug>/enter/<str:token>/", entering.enter, name="annotate_enter"),
    path("annotate/<slug:slug>/training/", training.go_on, name="annotate_training"),
    path("annotate/<slug:slug>/warnings/", entering.warnings, name="annotate_warnings"),
    path("annotate/<slug:slug>/renew/", answering.renew, name="annotate_renew"),
    path("annotate/<slug:slug>/leave/", leaving.leave, name="annotate_leave"),
    path("annotate/<slug:slug>/<uuid:lease>/answer/", answering.answer, name="annotate_answer"),
    path("annotate/<slug:slug>/<uuid:lease>/check/", answering.check, name="annotate_check"),
    path("annotate/<slug:slug>/<uuid:lease>/draft/", answering.save_draft, name="annotate_draft"),
    path("annotate/<slug:slug>/<uuid:lease>/aside/", answering.set_aside, name="annotate_aside"),
    path("annotate/<slug:slug>/<uuid:lease>/image/<slug:size>/", answering.image, name="annotate_image"),
]
