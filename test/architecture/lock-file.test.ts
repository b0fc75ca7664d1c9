import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './source-file.ts'

interface LockedPackage {
  readonly version?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

type Lock = Readonly<Record<string, LockedPackage>>

/**
 * `npm ci` refuses a lock file that leaves out a package it names, which
 * happens when the packages of other platforms were out of reach while it was
 * written. Then nothing can be installed from a fresh clone.
 */
function unlocked(packages: Lock): readonly string[] {
  return Object.entries(packages).flatMap(([where, entry]) =>
    Object.keys({ ...entry.dependencies, ...entry.devDependencies, ...entry.optionalDependencies })
      .filter((name) => !resolves(packages, where, name))
      .map((name) => `${where || 'package.json'} needs ${name}`),
  )
}

/** Whether `name` is found from the folder `where`, as Node looks packages up. */
function resolves(packages: Lock, where: string, name: string): boolean {
  const path = where === '' ? `node_modules/${name}` : `${where}/node_modules/${name}`
  if (packages[path] !== undefined) return true
  if (where === '') return false
  return resolves(packages, where.slice(0, Math.max(where.lastIndexOf('/node_modules/'), 0)), name)
}

test('the lock file holds every package that it names, of every platform', () => {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Lock
  }
  expect(unlocked(lock.packages)).toEqual([])
})

test('a package that was left out is found, and one further up is enough', () => {
  const packages: Lock = {
    '': { devDependencies: { lint: '1.0.0' } },
    'node_modules/lint': { optionalDependencies: { 'lint-darwin': '1.0.0', shared: '1.0.0' } },
    'node_modules/shared': { dependencies: { lint: '1.0.0' } },
  }
  expect(unlocked(packages)).toEqual(['node_modules/lint needs lint-darwin'])
})

test('every version in package.json is exact', () => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as LockedPackage
  const versions = Object.entries({
    ...manifest.dependencies,
    ...manifest.devDependencies,
    ...manifest.optionalDependencies,
  })
  expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([])
})
