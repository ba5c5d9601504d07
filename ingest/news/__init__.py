"""A set of news that renews itself: articles, the files and the service that they come from."""
