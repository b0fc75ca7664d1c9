import { LONG_TESTS, type LongTests } from './long-tests.ts'

/** `short` is what `npm test` runs, `long` what `npm run test:long` runs. */
export type Selection = 'all' | 'short' | 'long'

/** Reads the selection from the value of `NP_TESTS`; unset selects all. Throws on others. */
export function readSelection(value: string | undefined): Selection {
  if (value === undefined || value === '') return 'all'
  if (value === 'short' || value === 'long' || value === 'all') return value
  throw new Error(`NP_TESTS is ${JSON.stringify(value)}: set it to short, long or all`)
}

/** The test files of one project, as vitest wants them. */
export interface ProjectFiles {
  readonly include: readonly string[]
  readonly exclude: readonly string[]
}

/** What of a project's files is selected; undefined where nothing is. */
export function selectFiles(
  project: string,
  files: ProjectFiles,
  selection: Selection,
  longTests: readonly LongTests[] = LONG_TESTS,
): ProjectFiles | undefined {
  if (selection === 'all') return files
  const long = longTests.flatMap(({ projects, files }) => (projects.includes(project) ? files : []))
  if (selection === 'long') return long.length === 0 ? undefined : { ...files, include: long }
  if (files.include.every((glob) => long.includes(glob))) return undefined
  return { ...files, exclude: [...files.exclude, ...long] }
}
