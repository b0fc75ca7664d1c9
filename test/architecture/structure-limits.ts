/** Production files that may lie flat in one folder of `src`. */
export const MAX_FILES_IN_FOLDER = 25

/**
 * Folders that hold more: exactly so many today, and never more. The reason says why they are not
 * divided; who divides one removes its row.
 */
export const LARGER_FOLDERS: Readonly<Record<string, readonly [files: number, reason: string]>> = {}

/**
 * Files of at most 60 lines with one importer, which lies beside them; `main.ts structure` lists them. So many today,
 * and never more: who merges one lowers the number.
 */
export const MAX_SMALL_PIECES = 13

/** Names that modules use of each other, each once for a module that uses it: so many today, and never more. */
export const MAX_BORDER_NAMES = 1881

/** Files that run statements when they are imported. */
export const IMPORTED_PROGRAMS: readonly string[] = [
  // Composes a class of the library as the index of its package does.
  'src/client/http/undici.ts',
]

/** Groups of files that import each other in a circle, by their number of files; none is the aim. */
export const CIRCLES: readonly (readonly string[])[] = []

/** Pairs of folders of one module that import each other, each with its reason. */
export const MUTUAL_FOLDERS: Readonly<Record<string, string>> = {}

/** Imports inside a module against its direction. */
export const MAX_UPWARD_IMPORTS = 0

/** Lines of a mode outside its folder: its row of the registry is no file of its own. */
export const MAX_LINES_OUTSIDE_OF_A_MODE = 0

/** Files beside production code that only tests import, each with the reason why it stands there. */
export const TEST_FILES_OUTSIDE_OF_TESTING: Readonly<Record<string, string>> = {
  'src/apiserver/metrics/document.ts': 'writes docs/apiserver-metrics.md',
  'src/dns/metrics/document.ts': 'writes docs/dns-metrics.md',
  'src/nodeproxy/config/document.ts': 'writes a part of docs/operate/configuration.md',
  'src/settings/json-schema.ts': 'writes a part of charts/*/values.schema.json',
}
