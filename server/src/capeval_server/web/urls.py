"""URLs of the HTML pages."""

from capeval_server.web import campaigns, hosting, participant, public, worker

__all__ = ["urlpatterns"]

# The public pages come last: their patterns `<slug>/` and `<slug>/<phase>/` also match fixed paths.
urlpatterns = [
    *worker.urlpatterns,
    *campaigns.urlpatterns,
    *hosting.urlpatterns,
    *participant.urlpatterns,
    *public.urlpatterns,
]
