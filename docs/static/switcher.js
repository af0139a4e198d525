// Makes a menu of the versions in versions.js. Both are read from this folder, so that pages opened as files work, too.
document.addEventListener("DOMContentLoaded", () => {
  const label = document.getElementById("version-menu");
  const versions = window.subbandVersions;
  if (!label || versions.length < 2) return;
  const here = new URL(document.documentElement.dataset.content_root || "./", location.href);
  const page = location.href.slice(here.href.length);
  const menu = document.createElement("select");
  menu.className = label.className;
  menu.setAttribute("aria-label", "Version of the documentation");
  for (const { folder, title } of versions) {
    const isThis = here.pathname.endsWith(`/${folder}/`);
    menu.add(new Option(title, folder, isThis, isThis));
  }
  menu.addEventListener("change", async () => {
    const there = new URL(`../${menu.value}/`, here);
    // A page that the other version lacks would be a dead end; files cannot be asked for.
    const found = await fetch(new URL(page, there), { method: "HEAD" }).then((answer) => answer.ok, () => false);
    location.href = new URL(found ? page : "index.html", there).href;
  });
  label.replaceWith(menu);
});
