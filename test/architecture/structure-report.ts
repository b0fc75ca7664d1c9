import { modeShares } from './mode-share.ts'
import {
  circles,
  filesPerFolder,
  type Graph,
  mutualFolders,
  strayTestFiles,
  upwardImports,
} from './structure.ts'

const SHOWN_FOLDERS = 12

/** The modes of every version of this project. */
export const MODES = ['iptables', 'ipvs', 'userspace']

/** The shape of `src` in numbers, to compare two checkouts. */
export function structureReport(graph: Graph): object {
  const found = circles(graph.edges)
  const upward = upwardImports(graph.edges)
  const mutual = mutualFolders(graph.edges)
  return {
    files: graph.files.length,
    imports: graph.edges.length,
    circles: found.length,
    filesInCircles: found.flat().length,
    largestCircle: Math.max(0, ...found.map(({ length }) => length)),
    mutualPairs: mutual.length,
    upwardImports: upward.length,
    strayTestFiles: strayTestFiles(graph).length,
    filesPerFolder: Object.fromEntries([...filesPerFolder(graph)].slice(0, SHOWN_FOLDERS)),
    modes: modeShares(graph, MODES),
    details: {
      circles: found,
      mutual,
      upward: upward.map(({ from, to }) => `${from} → ${to}`),
      stray: strayTestFiles(graph),
    },
  }
}
