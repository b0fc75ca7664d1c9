import { LONG_TESTS, type LongTests } from './long-tests.ts'
import { IPVS_TESTS, MODES_TESTS } from './release-tests.ts'

const LIST_NAMES = ['long', 'modes', 'ipvs'] as const
type ListName = (typeof LIST_NAMES)[number]

/** What `npm run test:long`, `test:modes` and `test:ipvs` run. */
const LISTS: Readonly<Record<ListName, readonly LongTests[]>> = {
  long: LONG_TESTS,
  modes: MODES_TESTS,
  ipvs: IPVS_TESTS,
}

/** `short` is what `npm test` runs: everything that is in no list. */
export type Selection = 'all' | 'short' | ListName
export const SELECTIONS: readonly Selection[] = ['all', 'short', ...LIST_NAMES]

/** Reads the selection from the value of `NP_TESTS`; unset selects all. Throws on others. */
export function readSelection(value: string | undefined): Selection {
  if (value === undefined || value === '') return 'all'
  const selection = SELECTIONS.find((one) => one === value)
  if (selection !== undefined) return selection
  throw new Error(`NP_TESTS is ${JSON.stringify(value)}: set it to one of ${SELECTIONS.join(', ')}`)
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
  lists = LISTS,
): ProjectFiles | undefined {
  if (selection === 'all') return files
  const listed = (list: ListName) =>
    lists[list].flatMap(({ projects, files }) => (projects.includes(project) ? files : []))
  if (selection !== 'short') {
    const include = listed(selection)
    return include.length === 0 ? undefined : { ...files, include }
  }
  const others = LIST_NAMES.flatMap(listed)
  if (files.include.every((glob) => others.includes(glob))) return undefined
  return { ...files, exclude: [...files.exclude, ...others] }
}
