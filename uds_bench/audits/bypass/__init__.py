"""The bypass audit: is a thinking trace that still tells about the weights, or about the decoder and the parser?"""
