import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readSources, root } from './source-file.ts'

/** Folders of `src` and of `src/modes` that hold a program. */
async function modules(): Promise<readonly string[]> {
  const sources = await readSources('src')
  const folders = sources
    .map(({ path }) => path.split('/'))
    .flatMap((parts) => [
      parts.slice(0, 2).join('/'),
      ...(parts[1] === 'modes' && parts.length > 3 ? [parts.slice(0, 3).join('/')] : []),
    ])
  return [...new Set(folders)]
}

test('every module of src has a README that says something', async () => {
  const found = await modules()
  expect(found).toContain('src/modes/iptables')
  expect(found.filter((module) => readme(module).length < 200)).toEqual([])
})

function readme(module: string): string {
  const path = join(root, module, 'README.md')
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

test('every path that the documentation names exists', () => {
  const pages = [
    'README.md',
    'CONTRIBUTING.md',
    ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((page) => page.endsWith('.md'))
      .map((page) => `docs/${page}`),
  ]
  const broken = pages.flatMap((page) =>
    linksOf(page)
      .filter((target) => !existsSync(join(root, target)))
      .map((target) => `${page} → ${target}`),
  )
  expect(broken).toEqual([])
})

test('every file that a README of src names is in its module, or stands with its path', async () => {
  const sources = [...(await readSources('src')), ...(await readSources('test'))]
  const paths = [...sources, ...(await readSources('bench'))].map(({ path }) => path)
  const missing = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((page) => page.endsWith('README.md'))
    .flatMap((page) => {
      const module = `src/${page.split('/')[0]}/`
      return filesNamedIn(`src/${page}`)
        .filter((name) => !paths.some((path) => isMeant(path, name, module)))
        .map((name) => `src/${page}: ${name}`)
    })
  expect(missing).toEqual([])
})

function filesNamedIn(page: string): readonly string[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/`(?:\.\.\/)*([\w./-]+\.ts)`/g)].map(([, name = '']) => name)
}

function isMeant(path: string, name: string, module: string): boolean {
  if (path === name || path === `src/${name}`) return true
  return path.startsWith(module) && path.endsWith(`/${name}`)
}

/** Local link targets of one page, and the files of src that it names in code spans. */
function linksOf(page: string): readonly string[] {
  const text = readFileSync(join(root, page), 'utf8')
  const links = [...text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)].map(([, target = '']) =>
    join(page, '..', target),
  )
  const spans = [...text.matchAll(/`((?:src|test|config|scripts|docs)\/[\w./-]+)`/g)]
  return [...links, ...spans.map(([, target = '']) => target)]
}
