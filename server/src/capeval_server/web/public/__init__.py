"""Public pages: challenges, leaderboards and jobs."""

from django.urls import path, register_converter
from django.urls.converters import SlugConverter

from capeval_server.challenges.reserved_names import NOT_CHALLENGES
from capeval_server.web.public import about, captions, challenges, images, jobs, judgments, leaderboards

__all__ = ["urlpatterns"]


class ChallengeConverter(SlugConverter):
    """Path converter for challenge slugs, without words that other paths begin with."""

    regex = rf"(?!(?:{'|'.join(sorted(NOT_CHALLENGES))})(?:/|$)){SlugConverter.regex}"


register_converter(ChallengeConverter, "challenge")

urlpatterns = [
    path("", challenges.home, name="home"),
    path("jobs/", jobs.show_jobs, name="jobs"),
    path("<challenge:slug>/", challenges.challenge, name="challenge"),
    path("<challenge:slug>/announcements/", about.announcements, name="announcements"),
    path("<challenge:slug>/data/", challenges.data, name="challenge_data"),
    path("<challenge:slug>/rules/", challenges.rules, name="challenge_rules"),
    path("<challenge:slug>/faq/", about.faq, name="challenge_faq"),
    path("<challenge:slug>/pages/<slug:name>/", about.page, name="challenge_page"),
    path("<challenge:slug>/contact/", about.contact, name="challenge_contact"),
    path("<challenge:slug>/link/<str:key>/", challenges.open_link, name="challenge_link"),
    path("<challenge:slug>/kit.zip", images.kit, name="kit"),
    path("<challenge:slug>/pictures/<str:name>", about.show_picture, name="picture"),
    path("<challenge:slug>/judgments/", judgments.judgments, name="judgments"),
    path("<challenge:slug>/images/<slug:split>/", images.show_images, name="images"),
    path("<challenge:slug>/images/<slug:split>.json", images.send_images, name="images_file"),
    path("<challenge:slug>/<slug:name>/", leaderboards.show_leaderboard, name="leaderboard"),
    path("<challenge:slug>/<slug:name>/captions/", captions.show_captions, name="captions"),
    path("<challenge:slug>/<slug:name>/cite/", leaderboards.cite, name="cite"),
    path("<challenge:slug>/<slug:name>/plot.svg", leaderboards.show_plot, name="leaderboard_plot"),
]
