import { modeShares } from './mode-share.ts'
import {
  borderNames,
  circles,
  filesPerFolder,
  type Graph,
  linesOf,
  mutualFolders,
  smallPieces,
  strayTestFiles,
  upwardImports,
} from './structure.ts'

const SHOWN_FOLDERS = 12

/** A file of so many lines with one importer beside it belongs into that one, unless a list holds it. */
export const SMALL_LINES = 60

/** The modes of every version of this project. */
export const MODES = ['iptables', 'ipvs', 'userspace']

/** The shape of `src` in numbers, to compare two checkouts. */
export function structureReport(graph: Graph): object {
  const found = circles(graph.edges)
  const upward = upwardImports(graph.edges)
  const mutual = mutualFolders(graph.edges)
  const lines = graph.files.map(({ text }) => linesOf(text)).toSorted((a, b) => a - b)
  const folders = filesPerFolder(graph)
  const small = smallPieces(graph, { maxLines: SMALL_LINES })
  return {
    files: graph.files.length,
    lines: lines.reduce((sum, one) => sum + one, 0),
    medianLines: lines[Math.floor(lines.length / 2)],
    ninetiethPercentileLines: lines[Math.floor(lines.length * 0.9)],
    folders: folders.size,
    foldersOfOneOrTwo: folders
      .values()
      .filter((files) => files <= 2)
      .toArray().length,
    smallPieces: small.length,
    borderNames: borderNames(graph.files),
    imports: graph.edges.length,
    circles: found.length,
    filesInCircles: found.flat().length,
    largestCircle: Math.max(0, ...found.map(({ length }) => length)),
    mutualPairs: mutual.length,
    upwardImports: upward.length,
    strayTestFiles: strayTestFiles(graph).length,
    filesPerFolder: Object.fromEntries([...folders].slice(0, SHOWN_FOLDERS)),
    modes: modeShares(graph, MODES),
    details: {
      circles: found,
      mutual,
      upward: upward.map(({ from, to }) => `${from} → ${to}`),
      stray: strayTestFiles(graph),
      small,
    },
  }
}
