"""How answers look: tables of text, HTML fragments, MathML and inline pictures, with nothing but the standard library."""
