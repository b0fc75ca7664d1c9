import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '../..')

/** One TypeScript file, by its path from the root of the repository. */
export interface SourceFile {
  readonly path: string
  readonly text: string
}

/** Those that this process has read, by their absolute paths. */
const known = new Map<string, SourceFile>()

/**
 * Every TypeScript file below `folder` of the checkout `base`, tests included, sorted by path. One that is as it was
 * before is the same object, so that what was found in it can be kept with it.
 */
export async function readSources(folder: string, base = root): Promise<readonly SourceFile[]> {
  const entries = await readdir(join(base, folder), { recursive: true })
  return entries
    .filter((entry) => entry.endsWith('.ts'))
    .map((entry) => `${folder}/${entry}`)
    .toSorted()
    .map((path) => readSource(path, join(base, path)))
}

function readSource(path: string, place: string): SourceFile {
  const text = readFileSync(place, 'utf8')
  const before = known.get(place)
  if (before?.path === path && before.text === text) return before
  const file = { path, text }
  known.set(place, file)
  return file
}

export function isTest(path: string): boolean {
  return path.endsWith('.test.ts')
}
