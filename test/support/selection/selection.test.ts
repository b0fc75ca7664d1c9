import { describe, expect, test } from 'vitest'
import type { LongTests } from './long-tests.ts'
import { readSelection, type Selection, selectFiles } from './selection.ts'

describe('readSelection', () => {
  test.each([
    [undefined, 'all'],
    ['', 'all'],
    ['short', 'short'],
    ['long', 'long'],
    ['modes', 'modes'],
    ['ipvs', 'ipvs'],
    ['all', 'all'],
  ])('%j selects %s', (value, selection) => {
    expect(readSelection(value)).toBe(selection)
  })

  test('another value is an error that names the valid ones', () => {
    expect(() => readSelection('lng')).toThrow(
      'NP_TESTS is "lng": set it to one of all, short, long, modes, ipvs',
    )
  })
})

describe('selectFiles', () => {
  const files = { include: ['test/a/**'], exclude: ['test/a/never.ts'] }
  const longTests: readonly LongTests[] = [
    { reason: 'slow', projects: ['a', 'b'], files: ['test/a/one.ts'] },
    { reason: 'slower', projects: ['a'], files: ['test/a/two.ts'] },
    { reason: 'all of it', projects: ['c'], files: ['test/a/**'] },
  ]
  const ipvs: readonly LongTests[] = [
    { reason: 'slowest', projects: ['b'], files: ['test/a/three.ts'] },
  ]
  const modes: readonly LongTests[] = [
    { reason: 'alike', projects: ['b'], files: ['test/a/four.ts'] },
  ]
  const select = (project: string, selection: Selection) =>
    selectFiles(project, files, selection, { long: longTests, modes, ipvs })

  test('everything is the project as it is', () => {
    expect(select('a', 'all')).toEqual(files)
  })

  test('short leaves out the files that are long in this project', () => {
    expect(select('a', 'short')).toEqual({
      include: ['test/a/**'],
      exclude: ['test/a/never.ts', 'test/a/one.ts', 'test/a/two.ts'],
    })
    expect(select('b', 'short')?.exclude).toEqual([
      'test/a/never.ts',
      'test/a/one.ts',
      'test/a/four.ts',
      'test/a/three.ts',
    ])
    expect(select('d', 'short')).toEqual(files)
  })

  test('ipvs is the files of its list alone', () => {
    expect(select('b', 'ipvs')).toEqual({
      include: ['test/a/three.ts'],
      exclude: ['test/a/never.ts'],
    })
    expect(select('a', 'ipvs')).toBeUndefined()
  })

  test('long is those files alone', () => {
    expect(select('b', 'long')).toEqual({
      include: ['test/a/one.ts'],
      exclude: ['test/a/never.ts'],
    })
    expect(select('d', 'long')).toBeUndefined()
  })

  test('a project whose pattern is long has no short files', () => {
    expect(select('c', 'short')).toBeUndefined()
    expect(select('c', 'long')).toEqual(files)
  })
})
