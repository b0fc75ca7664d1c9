import { readFileSync } from 'node:fs'
import { extract } from 'tar-stream'
import { describe, expect, test } from 'vitest'
import { mergedPath } from '../../../docker/image/debian-packages.ts'
import { FileTree, tarOf } from '../../../docker/image/file-tree.ts'
import { readLinking } from '../../../packaging/elf.ts'

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
