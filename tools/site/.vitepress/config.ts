/**
 * The documentation site. `docs` is the only source. The sidebar follows the map in `docs/README.md`, and links to
 * other files in the repository lead to GitHub, at the site's release.
 */
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { defineConfig, type MarkdownOptions } from 'vitepress';
import { slug } from '../../../tests/docs/slug';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
/** The repository in the format of GitHub Actions: `owner/name`. Without it, links to other files become plain text. */
const REPOSITORY = process.env.GITHUB_REPOSITORY;
const SOURCE = REPOSITORY && `https://github.com/${REPOSITORY}/blob/v${version}`;

export default defineConfig({
  title: 'freshq',
  description: 'Newest-first task queues on AWS',
  base: REPOSITORY === undefined ? '/' : `/${REPOSITORY.split('/')[1]}/`,
  srcDir: '../../docs',
  outDir: '../../target/site',
  cacheDir: '../../target/site-cache',
  rewrites: { 'README.md': 'index.md', ':folder/README.md': ':folder/index.md' },
  // The reference contains URLs such as http://localhost:3000/validate, which the generator treats as links.
  ignoreDeadLinks: 'localhostLinks',
  cleanUrls: true,
  lastUpdated: false,
  markdown: {
    html: false,
    anchor: { slugify: slug },
    languageAlias: { 'rust,no_run': 'rust', 'rust,ignore': 'rust' },
    config: linkToSources,
  },
  vite: { plugins: [{ name: 'freshq-vue', enforce: 'pre', resolveId: vueOfThisFolder }] },
  themeConfig: {
    search: { provider: 'local' },
    outline: { level: [2, 3] },
    sidebar: sidebar(),
    nav: SOURCE
      ? [{ text: `v${version}`, link: `${SOURCE}/CHANGELOG.md` }]
      : [{ text: `v${version}`, link: '/' }],
    ...(SOURCE && {
      socialLinks: [{ icon: 'github', link: `https://github.com/${REPOSITORY}` }],
      editLink: { pattern: `https://github.com/${REPOSITORY}/edit/main/docs/:path`, text: 'Edit this page' },
    }),
    footer: { message: `Documentation of freshq ${version}. Apache-2.0.` },
  },
});

/** Resolves the vue package in this folder, because the pages are outside the folder. */
function vueOfThisFolder(this: PluginContext, source: string, _importer: unknown, options: object) {
  return /^vue(\/|$)/.test(source)
    ? this.resolve(source, import.meta.filename, { ...options, skipSelf: true })
    : null;
}

interface PluginContext {
  resolve(source: string, importer: string, options: object): Promise<unknown>;
}

/** Returns the sidebar: the sections of the map, each with its links in order. */
function sidebar() {
  const [, ...sections] = readFileSync(join(ROOT, 'docs', 'README.md'), 'utf8').split(/^## /m);
  return sections.map((section) => ({
    text: section.slice(0, section.indexOf('\n')),
    collapsed: false,
    items: [...section.matchAll(/\[([^\]]+)\]\(([\w/-]+)\.md\)/g)].map(([, text = '', path = '']) => ({
      // Function names stay in lowercase.
      text: text.startsWith('`') ? text.replaceAll('`', '') : `${text[0]?.toUpperCase()}${text.slice(1)}`,
      link: `/${path.replace(/README$/, '')}`,
    })),
  }));
}

/** Redirects each link to a README to its page, and each link outside `docs` to GitHub. */
function linkToSources(md: Parameters<NonNullable<MarkdownOptions['config']>>[0]): void {
  md.core.ruler.push('freshq-links', ({ tokens, env }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === 'link_open' ? token.attrGet('href') : null;
      if (href === null || /^([a-z]+:|#)/.test(href)) continue;
      const [path = '', anchor] = href.split('#');
      const target = posix.join('docs', posix.dirname(env.relativePath), path);
      const suffix = anchor === undefined ? '' : `#${anchor}`;
      if (target.startsWith('docs/')) {
        token.attrSet('href', `${path.replace(/README\.md$/, 'index.md')}${suffix}`);
      } else if (SOURCE) {
        token.attrSet('href', `${SOURCE}/${target}${suffix}`);
      } else {
        token.attrs = [];
      }
    }
  });
}
