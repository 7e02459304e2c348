"""The page in a browser: folding, searching, sorting, opening boxes, hovering, keys."""

import shutil
import time

import pytest

import flambeau as torch
from flambeau import nn

webdriver = pytest.importorskip("selenium.webdriver")
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver")
ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync",
             "--disable-background-networking", "--disable-component-update", "--window-size=1400,900"]


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(8, 8), nn.ReLU())

    def forward(self, x):
        return x + self.inner(x)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.Sequential(*[Residual() for _ in range(4)]), nn.Linear(8, 100))
    path = tmp_path_factory.mktemp("pages") / "model.html"
    torch.inspect(model, torch.randn(4, 8), optimizer=torch.optim.SGD(model[2].parameters(), lr=1e-3), path=path)
    return path.as_uri()


@pytest.fixture
def open_page(browser, page):
    browser.set_window_size(1400, 900)
    browser.get(page)
    yield browser
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def rows(browser):
    return [row.get_attribute("data-path") for row in browser.find_elements(By.CSS_SELECTOR, "tr.row")]


def click(browser, selector):
    browser.find_element(By.CSS_SELECTOR, selector).click()


def test_fold_and_unfold(open_page):
    assert rows(open_page) == ["", "0", "1", "1.0", "1.1", "1.2", "1.3", "2"]
    click(open_page, "tr[data-path='1']")
    assert rows(open_page) == ["", "0", "1", "2"]
    click(open_page, "#unfold")
    assert len(rows(open_page)) == 20
    click(open_page, "#fold")
    assert rows(open_page) == ["", "0", "1", "2"]


def test_search(open_page):
    box = open_page.find_element(By.ID, "search")
    box.send_keys("inner relu")
    assert rows(open_page) == [f"1.{i}.inner.1" for i in range(4)]
    box.send_keys(" nothing")
    assert rows(open_page) == [] and "no module matches" in open_page.find_element(By.ID, "view").text
    box.send_keys(Keys.ESCAPE)
    assert len(rows(open_page)) == 8


def test_sort(open_page):
    click(open_page, "[data-view=table]")
    click(open_page, "th[data-sort=parameters]")
    first = rows(open_page)[:2]
    click(open_page, "th[data-sort=parameters]")
    assert first == ["", "2"] and rows(open_page)[-2:] == ["2", ""]
    click(open_page, "th[data-sort=module]")
    assert rows(open_page)[0] == "0"
    click(open_page, "th[data-sort='update/weight']")
    assert rows(open_page)[0] == "2"  # the one that the optimizer has


def test_details_and_hovering(open_page):
    click(open_page, "tr[data-path='2']")
    words = open_page.find_element(By.ID, "detail").text
    assert "in_features=8, out_features=100" in words and "900" in words and "[4, 100]" in words
    bar = open_page.find_elements(By.CSS_SELECTOR, "svg.histogram rect")[16]
    ActionChains(open_page).move_to_element(bar).perform()
    tip = open_page.find_element(By.ID, "tip")
    assert tip.is_displayed() and "…" in tip.text


def test_data_flow_opens(open_page):
    def boxes():
        return [box.get_attribute("data-key") for box in open_page.find_elements(By.CSS_SELECTOR, ".box")]

    click(open_page, "[data-view=flow]")
    assert boxes() == ["op:0", "0", "1", "2"]
    click(open_page, ".box[data-key='1']")
    assert "run:1.0" in boxes() and "4 \N{MULTIPLICATION SIGN} Residual" in open_page.find_element(By.ID, "view").text
    click(open_page, ".box[data-key='run:1.0']")
    click(open_page, ".box[data-key='1.2']")
    assert "1.2.inner" in boxes() and open_page.find_elements(By.CSS_SELECTOR, "path.far")
    click(open_page, "#close-all")
    assert len(boxes()) == 4


def test_graph_shows_saved_values(open_page):
    click(open_page, "[data-view=graph]")
    nodes = open_page.find_elements(By.CSS_SELECTOR, ".box")
    ActionChains(open_page).move_to_element(nodes[1]).perform()
    assert "saved float32" in open_page.find_element(By.ID, "tip").text


def test_keys_and_dark_mode(open_page):
    body = open_page.find_element(By.TAG_NAME, "body")
    body.send_keys(Keys.ARROW_DOWN)
    body.send_keys(Keys.ARROW_DOWN)
    assert open_page.find_element(By.CSS_SELECTOR, "tr.selected").get_attribute("data-path") == "1"
    body.send_keys(Keys.ARROW_LEFT)
    assert "1.0" not in rows(open_page)
    colour = body.value_of_css_property("background-color")
    body.send_keys("d")
    assert body.value_of_css_property("background-color") != colour
    body.send_keys("3")
    assert open_page.find_element(By.CSS_SELECTOR, "[data-view=table]").get_attribute("aria-selected") == "true"


def test_narrow_screen(open_page):
    open_page.set_window_size(420, 900)
    width = open_page.execute_script("return document.documentElement.scrollWidth - innerWidth")
    assert width <= 0
    detail, view = (open_page.find_element(By.ID, name).rect for name in ("detail", "view"))
    assert detail["y"] >= view["y"] + view["height"]


def test_five_thousand_modules(browser, tmp_path):
    model = nn.Sequential(*[nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Identity(), nn.Tanh()) for _ in range(1000)])
    path = tmp_path / "large.html"
    torch.inspect(model, torch.ones(1, 2), path=path)
    assert path.stat().st_size < 10_000_000
    start = time.monotonic()
    browser.get(path.as_uri())
    while not (found := rows(browser)) and time.monotonic() - start < 30:
        time.sleep(0.1)
    assert len(found) >= 300
    click(browser, "[data-view=flow]")
    assert "1000 \N{MULTIPLICATION SIGN} Sequential" in browser.find_element(By.ID, "view").text
    assert time.monotonic() - start < 30  # 3 seconds on a machine with nothing else to do
