import { hash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { posix } from 'node:path'
import { parseSync } from 'vite'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { type PageFiles, readPageFiles } from './page-files.ts'
import { sendPageFile } from './send-page-file.ts'

let pages: PageFiles
beforeAll(async () => {
  pages = await readPageFiles()
})

function textOf(path: string): string {
  const file = pages.files.get(path)
  if (file === undefined) throw new Error(`the page has no file ${path}`)
  return new TextDecoder().decode(file.bytes)
}

function importMap(): Readonly<Record<string, string>> {
  const [, json = ''] = /<script type="importmap">([^]*?)<\/script>/.exec(textOf('')) ?? []
  return (JSON.parse(json) as { imports: Record<string, string> }).imports
}

function importsOf(path: string): readonly string[] {
  const { program, errors } = parseSync(`${path}.mjs`, textOf(path))
  expect(errors).toEqual([])
  return program.body.flatMap((node) =>
    (node.type === 'ImportDeclaration' || node.type === 'ExportNamedDeclaration') && node.source
      ? [node.source.value]
      : [],
  )
}

test('modules are plain JavaScript, and everything that they import is served', () => {
  const map = importMap()
  const modules = [...pages.files.keys()].filter((path) => /\.(?:ts|mjs)$/.test(path))
  expect(modules.length).toBeGreaterThan(30)
  for (const path of modules) {
    for (const name of importsOf(path)) {
      const target = map[name] ?? posix.join(posix.dirname(path), name)
      expect([...pages.files.keys()]).toContain(target.replace('./', ''))
    }
  }
})

test('everything that the document names is served, with its type', () => {
  const names = [...textOf('').matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name = '']) => name)
  expect(names.length).toBeGreaterThan(5)
  for (const name of names) expect(pages.files.has(name)).toBe(true)
  expect(pages.files.get('assets/main.ts')?.type).toBe('text/javascript; charset=utf-8')
  expect(pages.files.get('assets/style/base.css')?.type).toBe('text/css; charset=utf-8')
})

test('nothing else is: no test, no configuration, no file of this folder', () => {
  const others = [...pages.files.keys()].filter((path) => /test|json|html|\.\.|worker/.test(path))
  expect(others).toEqual([])
})

test('nothing names another origin', () => {
  const own = [...pages.files.keys()].filter((path) => !path.startsWith('assets/library/'))
  const naming = own.filter((path) => /https?:\/\/(?!www\.w3\.org\/2000\/svg)/.test(textOf(path)))
  expect(naming).toEqual([])
})

test('the policy admits files of the server alone, no frame around them and no text as HTML', () => {
  const admitted = pages.policy.split('; ').filter((one) => !one.startsWith('script-src'))
  expect(admitted).toEqual([
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ])
})

test('the policy admits the import map by its hash, and no other inline script', () => {
  const [, map = ''] = /<script type="importmap">([^]*?)<\/script>/.exec(textOf('')) ?? []
  expect(pages.policy).toContain(`script-src 'self' 'sha256-${hash('sha256', map, 'base64')}';`)
  expect(pages.policy).not.toContain('unsafe')
  expect(textOf('')).not.toMatch(/ style=| on\w+=|<style/)
})

test('answers with the file, its ETag, and 304 to a reader that has it', async () => {
  const server = createServer((request, response) => {
    const path = (request.url ?? '').slice(1)
    if (!sendPageFile({ request, response }, pages, path)) response.writeHead(404).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const first = await fetch(`${url}/assets/main.ts`)
  const bytes = await first.bytes()
  expect(new TextDecoder().decode(bytes)).toBe(textOf('assets/main.ts'))
  const digest = hash('sha256', bytes, 'base64url')
  const etag = first.headers.get('etag') ?? ''
  expect(etag).toBe(`"${digest.slice(0, 22)}"`)
  const getKnown = (known: string) =>
    fetch(`${url}/assets/main.ts`, { headers: { 'if-none-match': known } })
  const again = await getKnown(etag)
  expect([again.status, await again.text()]).toEqual([304, ''])
  for (const { headers } of [first, again]) {
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-cache',
      'content-security-policy': pages.policy,
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    })
  }
  expect((await getKnown('"of another version"')).status).toBe(200)
  const head = await fetch(`${url}/`, { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([200, ''])
  for (const path of ['assets/../../package.json', 'assets/%2e%2e/page-files.ts', 'assets/']) {
    expect((await fetch(`${url}/${path}`)).status).toBe(404)
  }
})
