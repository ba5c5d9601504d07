"""What lies in `raw`: its declaration, how rows come into it once, and what later versions of a source say of them."""
