"""The addresses of the pages."""

from capeval_server.pages import annotator, campaigns, organiser, participant, public

__all__ = ["urlpatterns"]

# The public pages come last: among theirs are `<slug>/` and `<slug>/<phase>/`, which match fixed words too.
urlpatterns = [
    *annotator.urlpatterns,
    *campaigns.urlpatterns,
    *organiser.urlpatterns,
    *participant.urlpatterns,
    *public.urlpatterns,
]
