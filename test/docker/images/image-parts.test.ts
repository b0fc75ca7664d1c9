import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import { extract } from 'tar-stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { bundlePrograms } from '../../../packaging/bundle/bundle.ts'
import { mergedPath } from '../../../docker/image/debian-packages.ts'
import { readLinking } from '../../../docker/image/elf.ts'
import { FileTree, tarOf } from '../../../docker/image/file-tree.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'np-image-test-'))
})
afterEach(() => rmSync(root, { recursive: true }))

describe('a layer', () => {
  const one = { kind: 'file', content: Buffer.from('one'), mode: 0o755 } as const

  test('is the same bytes in whatever order it was filled, and knows no user and no time', async () => {
    const [first, second] = [new FileTree(), new FileTree()]
    first.add('a/b/one', one)
    first.add('a/link', { kind: 'link', target: 'b/one' })
    second.add('a/link', { kind: 'link', target: 'b/one' })
    second.add('a/b/one', one)
    const archive = await tarOf(first, 86_400)
    expect(archive.equals(await tarOf(second, 86_400))).toBe(true)
    const read = extract()
    read.end(archive)
    const found: unknown[] = []
    for await (const { header, ...entry } of read) {
      void entry
      found.push([header.name, header.mode, header.uid, header.mtime?.getTime()])
    }
    expect(found).toEqual([
      ['a/', 0o755, 0, 86_400_000],
      ['a/b/', 0o755, 0, 86_400_000],
      ['a/b/one', 0o755, 0, 86_400_000],
      ['a/link', 0o777, 0, 86_400_000],
    ])
  })

  test('refuses a second file of another content at the same place', () => {
    const tree = new FileTree()
    tree.add('a/one', one)
    tree.add('a/one', one)
    expect(() => tree.addText('a/one', 'another')).toThrow('a/one: there are two')
  })
})

describe('what a program is linked with', () => {
  test('is read from its header', () => {
    const linking = readLinking(readFileSync('/bin/sh'))
    expect(linking?.interpreter).toMatch(/^\/lib.*\/ld-linux-/)
    expect(linking?.needed).toEqual(expect.arrayContaining(['libc.so.6']))
  })

  test('is nothing for a script, and unknown for another kind of processor', () => {
    expect(readLinking(Buffer.from('#!/bin/sh\n'))).toBeUndefined()
    expect(() => readLinking(Buffer.from('\x7fELF\x01\x01', 'latin1'))).toThrow('64-bit')
  })
})

test.each([
  ['./bin/kmod', 'usr/bin/kmod'],
  ['/lib64/ld-linux-x86-64.so.2', 'usr/lib64/ld-linux-x86-64.so.2'],
  ['./usr/sbin/nft', 'usr/sbin/nft'],
  ['./library/x', 'library/x'],
])('the file %s of a package is at %s', (path, merged) => {
  expect(mergedPath(path)).toBe(merged)
})

describe('the bundle', () => {
  const write = (files: Readonly<Record<string, string>>): void => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), text)
    }
  }
  const run = async (path: string): Promise<string> =>
    (await execa(process.execPath, [join(root, path)])).stdout

  test('finds what modules name by their own place, as in the checkout', async () => {
    write({
      'package.json': '{"type":"module"}',
      'data.txt': 'read beside the checkout',
      'bin/tool': 'exec node --max-semi-space-size=4 "$bin/../src/tool/main.ts"',
      'src/tool/main.ts': `import { text } from './deep/reader.ts'
        const lines: string[] = [await text()]
        const { later } = await import('./deep/later.ts')
        console.log([...lines, ...(await later())].join())`,
      'src/tool/deep/reader.ts': `import { readFile } from 'node:fs/promises'
        export const text = (): Promise<string> => readFile(new URL('../../../data.txt', import.meta.url), 'utf8')`,
      'src/tool/deep/later.ts': `import { readFileSync } from 'node:fs'
        import { join } from 'node:path'
        import { Worker } from 'node:worker_threads'
        export function later(): Promise<string[]> {
          const own = readFileSync(join(import.meta.dirname, '../../../data.txt'), 'utf8')
          const worker = new Worker(new URL('./some-worker.ts', import.meta.url))
          return new Promise((resolve) => worker.once('message', (said: string) => resolve([own, said])))
        }`,
      'src/tool/deep/some-worker.ts': `import { parentPort } from 'node:worker_threads'
        parentPort?.postMessage('from a thread')`,
    })
    const bundle = await bundlePrograms(root, ['tool'])
    write(Object.fromEntries(bundle.files))
    expect([...bundle.starting].toSorted()).toEqual(['lib/tool-deep-some-worker.js', 'lib/tool.js'])
    const said = 'read beside the checkout,read beside the checkout,from a thread'
    expect(await run('src/tool/main.ts')).toBe(said)
    expect(await run('lib/tool.js')).toBe(said)
    expect(bundle.modules).toContain('src/tool/deep/later.ts')
  })

  test.each([`join(__dirname, '../data/x.txt')`, `join(__dirname, "../data/x.txt")`])(
    'finds what a package reads by its own place: %s',
    async (place) => {
      write({
        'package.json': '{"type":"module"}',
        'bin/tool': 'exec node "$bin/../src/tool/main.ts"',
        'src/tool/main.ts': `import read from 'reader'
          console.log(read())`,
        'node_modules/reader/package.json': '{"name":"reader","main":"code/index.js"}',
        'node_modules/reader/code/index.js': `const { join } = require('node:path')
          module.exports = () => require('node:fs').readFileSync(${place}, 'utf8')`,
        'node_modules/reader/data/x.txt': 'beside the package',
      })
      const bundle = await bundlePrograms(root, ['tool'])
      write(Object.fromEntries(bundle.files))
      expect([...bundle.beside]).toEqual(['node_modules/reader/data/x.txt'])
      expect(await run('lib/tool.js')).toBe('beside the package')
    },
  )

  test('refuses a place that it does not know', async () => {
    write({
      'bin/tool': 'exec node "$bin/../src/tool/main.ts"',
      'src/tool/main.ts': 'console.log(import.meta.main)',
    })
    await expect(bundlePrograms(root, ['tool'])).rejects.toThrow('import.meta.main')
  })
})
