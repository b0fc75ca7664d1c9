import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from './source-file.ts'

/** What the project writes itself. */
const PLACES = [
  'src',
  'test',
  'bench',
  'scripts',
  'bin',
  'config',
  'charts',
  'docker',
  'packaging',
  'examples',
  'docs',
]
const PAGES = ['README.md', 'CONTRIBUTING.md', 'vitest.config.ts']
const READABLE = /\.(?:ts|md|ya?ml|sh|service|timer)$|(?:^|\/)[\w-]+$/

/** A text by its path from the root of its checkout. */
export interface ProjectText {
  readonly path: string
  readonly text: string
}

/** Every text of the project below `folder` (`.` is all of it); `base` is the root of the checkout. */
export function projectTexts(folder: string, base = root): readonly ProjectText[] {
  const paths = [...PLACES.flatMap((place) => below(base, place)), ...PAGES]
  return paths
    .filter((path) => folder === '.' || path === folder || path.startsWith(`${folder}/`))
    .filter((path) => READABLE.test(path) && existsSync(join(base, path)))
    .toSorted()
    .map((path) => ({ path, text: readFileSync(join(base, path), 'utf8') }))
}

function below(base: string, place: string): readonly string[] {
  if (!existsSync(join(base, place))) return []
  return readdirSync(join(base, place), { recursive: true, encoding: 'utf8' })
    .map((entry) => join(base, place, entry))
    .filter((path) => statSync(path).isFile())
    .map((path) => relative(base, path))
}
