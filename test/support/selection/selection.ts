import { IPVS_TESTS } from './ipvs-tests.ts'
import { LONG_TESTS, type LongTests } from './long-tests.ts'

/** `short` is what `npm test` runs; `long` and `ipvs` are what `npm run test:long` and `test:ipvs` run. */
export type Selection = 'all' | 'short' | ListName
type ListName = 'long' | 'ipvs'

/** Reads the selection from the value of `NP_TESTS`; unset selects all. Throws on others. */
export function readSelection(value: string | undefined): Selection {
  if (value === undefined || value === '') return 'all'
  if (value === 'short' || value === 'long' || value === 'ipvs' || value === 'all') return value
  throw new Error(`NP_TESTS is ${JSON.stringify(value)}: set it to short, long, ipvs or all`)
}

/** The test files of one project, in the form for vitest. */
export interface ProjectFiles {
  readonly include: readonly string[]
  readonly exclude: readonly string[]
}

/** The selected files of a project; undefined: none is selected. */
export function selectFiles(
  project: string,
  files: ProjectFiles,
  selection: Selection,
  lists: Readonly<Record<ListName, readonly LongTests[]>> = { long: LONG_TESTS, ipvs: IPVS_TESTS },
): ProjectFiles | undefined {
  if (selection === 'all') return files
  const listed = (list: ListName) =>
    lists[list].flatMap(({ projects, files }) => (projects.includes(project) ? files : []))
  if (selection !== 'short') {
    const include = listed(selection)
    return include.length === 0 ? undefined : { ...files, include }
  }
  const others = [...listed('long'), ...listed('ipvs')]
  if (files.include.every((glob) => others.includes(glob))) return undefined
  return { ...files, exclude: [...files.exclude, ...others] }
}
