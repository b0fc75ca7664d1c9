import type { Graph } from './structure.ts'

/** Where the production code of one mode stands. */
export interface ModeShare {
  readonly mode: string
  /** Lines of `src/modes/<mode>`. */
  readonly inside: number
  /** Files of other folders that have the mode's name in their path, and their lines. */
  readonly outsideFiles: readonly string[]
  readonly outside: number
  /** Other files with code that names the mode: what adding one touches. */
  readonly namedIn: readonly string[]
}

/** What the kernel offers, and what interprets it, is no mode: netlink's IPVS family, the programs of netfilter. */
const OF_THE_KERNEL = /^src\/(?:kernel|explain)\//
const COMMENT = /\/\*[\s\S]*?\*\/|\/\/[^\n]*/g

/** How much of each mode stands in its folder, and how much elsewhere in `src`. */
export function modeShares({ files }: Graph, modes: readonly string[]): readonly ModeShare[] {
  return modes.map((mode) => {
    const folder = `src/modes/${mode}/`
    const others = files.filter(({ path }) => !path.startsWith(folder) && !OF_THE_KERNEL.test(path))
    const outside = others.filter(({ path }) => new RegExp(`\\b${mode}\\b`).test(path))
    const naming = others.filter((file) => !outside.includes(file) && names(file.text, mode))
    return {
      mode,
      inside: lines(files.filter(({ path }) => path.startsWith(folder))),
      outsideFiles: outside.map(({ path }) => path),
      outside: lines(outside),
      namedIn: naming.map(({ path }) => path),
    }
  })
}

function names(text: string, mode: string): boolean {
  return text.replace(COMMENT, '').toLowerCase().includes(mode)
}

function lines(files: readonly { readonly text: string }[]): number {
  return files.reduce((sum, { text }) => sum + text.trimEnd().split('\n').length, 0)
}
