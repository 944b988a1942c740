"""The addresses of the pages."""

from capeval_server.web import campaigns, hosting, participant, public, worker

__all__ = ["urlpatterns"]

# The public pages come last: among theirs are `<slug>/` and `<slug>/<phase>/`, which match fixed words too.
urlpatterns = [
    *worker.urlpatterns,
    *campaigns.urlpatterns,
    *hosting.urlpatterns,
    *participant.urlpatterns,
    *public.urlpatterns,
]
