"""Positions of street addresses: from a geocoder, on request, and stored for good.

The embedded service decides by them where the ZIP or the city of an address leaves several rates.
"""
