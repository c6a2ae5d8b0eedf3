"""A worksheet of xlsxwriter that keeps every digit of a number and every sign of a text."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from xlsxwriter.worksheet import Worksheet

__all__ = ["ExactWorksheet"]


class ExactWorksheet(Worksheet):  # type: ignore[misc]
    """Numbers come back as they were, where xlsxwriter writes 16 digits and a double has 17: the largest one would be
    read as infinity. A text such as `<r>a & b</r>` is a text, where xlsxwriter would write it as markup unescaped."""

    def release(self) -> None:
        """Close the files of the sheet, which xlsxwriter leaves open where it fails."""
        for file in (self.fh, self.row_data_fh):
            if file is not None:
                with suppress(OSError):  # what is still in memory is of no use any more
                    file.close()

    def _xml_number_element(self, number: float, attributes: Iterable[tuple[str, object]] = ()) -> None:
        said = "".join(f' {key}="{value}"' for key, value in attributes)  # a reference and the number of a style
        self.fh.write(f"<c{said}><v>{repr(number).removesuffix('.0')}</v></c>")

    def _xml_rich_inline_string(self, string: str, attributes: Iterable[tuple[str, object]] = ()) -> None:
        self._xml_inline_string(string, True, list(attributes))
