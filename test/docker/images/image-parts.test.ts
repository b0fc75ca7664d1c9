import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { extract } from 'tar-stream'
import { describe, expect, onTestFinished, test } from 'vitest'
import { mergedPath } from '../../../docker/image/debian-packages.ts'
import { FileTree, tarOf } from '../../../docker/image/file-tree.ts'
import { Userland } from '../../../docker/image/userland.ts'
import { readLinking, withoutSymbols } from '../../../packaging/elf.ts'

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

describe('a program without symbols', () => {
  const program = readFileSync(process.execPath)

  test('is smaller, linked as before, and runs', async () => {
    const stripped = withoutSymbols(program)
    expect(stripped.length).toBeLessThan(program.length * 0.9)
    expect(readLinking(stripped)).toEqual(readLinking(program))
    expect(withoutSymbols(stripped).equals(stripped)).toBe(true)
    const folder = mkdtempSync(join(tmpdir(), 'np-elf-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    writeFileSync(join(folder, 'node'), stripped, { mode: 0o755 })
    const { stdout } = await execa(join(folder, 'node'), ['-p', 'process.version'])
    expect(stdout).toBe(process.version)
  })

  test('is none that is a script, or only the beginning of a program', () => {
    expect(() => withoutSymbols(Buffer.from('#!/bin/sh\n'))).toThrow('no program')
    expect(() => withoutSymbols(program.subarray(0, 1_000_000))).toThrow('not complete')
  })
})

test('packages for another processor are refused by name', () => {
  const of = (name: string, architecture: string) => ({
    name,
    architecture,
    version: '1',
    control: '',
    sha256: '',
    files: new Map(),
  })
  const packages = [of('ca-certificates', 'all'), of('libc6', 'amd64')]
  expect(() => new Userland(packages, 'x64')).not.toThrow()
  expect(() => new Userland(packages, 'arm64')).toThrow('libc6 is for amd64')
})

test.each([
  ['./bin/kmod', 'usr/bin/kmod'],
  ['/lib64/ld-linux-x86-64.so.2', 'usr/lib64/ld-linux-x86-64.so.2'],
  ['./usr/sbin/nft', 'usr/sbin/nft'],
  ['./library/x', 'library/x'],
])('the file %s of a package is at %s', (path, merged) => {
  expect(mergedPath(path)).toBe(merged)
})
