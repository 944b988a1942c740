// Excerpts in search results are fetched, which browsers block for pages from the file system.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
