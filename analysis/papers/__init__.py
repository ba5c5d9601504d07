"""What only a document's own method needs: D's attributions and scores, C's framings and people, story 001."""
