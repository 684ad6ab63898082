// Additions to the console's pages; every page works without them.
