// Builds the static files of the distribution: a script with those that it asks for later, and a style sheet, named by their content, and the page that names them.
import { build } from "esbuild";
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const target = `${here}../src/quoteway_console/static`;
await rm(target, { recursive: true, force: true });
await mkdir(target, { recursive: true });
const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.tsx", style: "src/style.css" },
  outdir: `${target}/assets`,
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  // Pages that few people open are files of their own, which the browser asks for when they are opened.
  splitting: true,
  bundle: true,
  format: "esm",
  platform: "browser",
  target: "es2022",
  minify: true,
  jsx: "automatic",
  jsxImportSource: "preact",
  keepNames: true,
  metafile: true,
  logLevel: "warning",
});
const entries = Object.entries(metafile.outputs).filter(([, { entryPoint }]) => ["src/main.tsx", "src/style.css"].includes(entryPoint));
const named = (ending) => `/site/assets/${entries.map(([path]) => basename(path)).find((name) => name.endsWith(ending))}`;
// The browser fetches what the script imports beside it, not after it was read.
const preloads = entries
  .flatMap(([, { imports }]) => imports.filter(({ kind }) => kind === "import-statement"))
  .map(({ path }) => `<link rel="modulepreload" href="/site/assets/${basename(path)}">`);
const page = (await readFile(`${here}src/index.html`, "utf8"))
  .replace("STYLE", named(".css"))
  .replace("PRELOADS", preloads.join("\n"))
  .replace("SCRIPT", named(".js"));
await writeFile(`${target}/index.html`, page);
for (const name of ["manifest.json", "icon.svg"]) await copyFile(`${here}src/${name}`, `${target}/${name}`);

// The licences of what is in the script ask for their text to come with it.
const packages = new Set(Object.keys(metafile.inputs).flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []));
const licences = await Promise.all(
  [...packages].sort().map(async (name) => {
    const folder = `${here}node_modules/${name}`;
    const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each));
    const { version, license } = JSON.parse(await readFile(`${folder}/package.json`, "utf8"));
    return `${name} ${version} (${license})\n\n${file ? await readFile(`${folder}/${file}`, "utf8") : ""}`;
  }),
);
await writeFile(`${target}/licences.txt`, licences.join("\n\n"));
