"""For mkdocs: pages that are not there are no part of the navigation, pictures of doc/ come along, links to what is not
installed become plain text, and the text of all sections is an index to search in (theme/search.js)."""
import html
import json
import os
import re

from mkdocs.structure.files import File

PICTURES = ("dashboard.svg", "top.svg", "report.svg", "page.png")
sections = []


def on_config(config):
    sections.clear()
    config["nav"] = [item for item in config["nav"]
                     if all(os.path.exists(os.path.join(config["docs_dir"], path)) for path in item.values())]
    return config


def on_files(files, config):
    doc = os.path.dirname(config["config_file_path"])
    for name in PICTURES:
        files.append(File(name, doc, config["site_dir"], False))
    return files


def on_page_markdown(markdown, page, **_):
    """Comments are for the test; pictures and files beside the manual are not below docs_dir."""
    markdown = re.sub(r"^<!-- test: .*? -->\n", "", markdown, flags=re.M)
    markdown = re.sub(r"!\[([^]]*)\]\(\.\./([^/)]+)\)", r"![\1](\2)", markdown)

    def local(match):
        path = os.path.join(os.path.dirname(page.file.abs_src_path), match[2].split("#")[0])
        return match[0] if os.path.exists(path) and ".." not in match[2] else match[1]

    return re.sub(r"(?<!!)\[([^]]*)\]\(((?!https?:)[^)]+\.\w+(?:#[\w-]*)?)\)", local, markdown)


def plain(text):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def on_page_content(content, page, **_):
    title = plain(re.search(r"<h1[^>]*>(.*?)</h1>", content, re.S)[1])
    for part in re.split(r"(?=<h[123] )", content):
        heading = re.match(r'<h[123] id="([^"]*)">(.*?)</h[123]>', part, re.S)
        if heading:
            sections.append({"page": title, "title": plain(heading[2]), "at": f"{page.file.dest_uri}#{heading[1]}",
                             "text": plain(part[heading.end():])})
    return content


def on_post_build(config):
    """Nothing in it has a time of the build, so that it can be reproduced."""
    site = config["site_dir"]
    for name in ("sitemap.xml", "sitemap.xml.gz", "404.html"):
        if os.path.exists(os.path.join(site, name)):
            os.remove(os.path.join(site, name))
    sections.sort(key=lambda section: section["at"])
    with open(os.path.join(site, "index.js"), "w", encoding="utf-8") as out:
        out.write("const manual_index = " + json.dumps(sections, ensure_ascii=False, indent=0) + ";\n")
