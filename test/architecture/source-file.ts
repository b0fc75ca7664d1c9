import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '../..')

/** One TypeScript file, by its path from the root of the repository. */
export interface SourceFile {
  readonly path: string
  readonly text: string
}

/** Every TypeScript file below `folder` of the checkout `base`, tests included, sorted by path. */
export async function readSources(folder: string, base = root): Promise<readonly SourceFile[]> {
  const entries = await readdir(join(base, folder), { recursive: true })
  return entries
    .filter((entry) => entry.endsWith('.ts'))
    .map((entry) => `${folder}/${entry}`)
    .toSorted()
    .map((path) => ({ path, text: readFileSync(join(base, path), 'utf8') }))
}

export function isTest(path: string): boolean {
  return path.endsWith('.test.ts')
}
