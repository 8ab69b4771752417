"""The Nexus tab without a browser: what a person does, as calls."""

from __future__ import annotations

FIVE = [
    {"state": "CA", "nexus_type": "economic", "registered_at": "2019-04-01"},
    {"state": "DE", "nexus_type": "economic", "registered_at": "2019-05-01", "notes": "<b>old</b>"},
    {"state": "MT", "nexus_type": "economic", "registered_at": "2019-06-01"},
    {"state": "NY", "nexus_type": "economic", "registered_at": "2019-07-01"},
    {"state": "TX", "nexus_type": "physical", "address": "500 W 2nd St, Austin"},
]


def click(tab, button):
    button.click()
    tab.session.background.settle()


def planned(tab):
    """The tab with its plan made of the service's records."""
    click(tab, tab.register.list_button)
    click(tab, tab.plan.make_button)
    return tab


def row(tab, name):
    """The checkboxes of a record that is shown, such as "TX physical"."""
    return next(one for one in tab.plan.rows.rows if one.row and " ".join(one.row.key) == name)


def tick(tab, *names):
    for name in names:
        row(tab, name).remove.value = True


def previewed(tab, *names):
    tick(planned(tab), *names)
    click(tab, tab.apply.preview_button)
    return tab


def confirm(tab, box, text):
    box.typed.value = text
    click(tab, box.button)


def there(client):
    return [(record.state, record.nexus_type) for record in client.list_nexus().nexus]


def said(section):
    return section.message.html
