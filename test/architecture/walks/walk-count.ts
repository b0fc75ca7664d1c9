/** What a walk through the source costs its reader. */
export interface WalkCount {
  readonly files: number
  /** Calls from one file into another. */
  readonly entries: number
  /** Entries into a file that the walk had entered before. */
  readonly returns: number
  readonly folders: number
  /** In the order of the first entry. */
  readonly order: readonly string[]
}

/** Counts the files of a walk; leaves without a domain (`lib`, `telemetry`) do not lead anywhere. */
export function walkCount(entered: readonly string[], within = /^src\//): WalkCount {
  const relevant = entered.filter(
    (path) => within.test(path) && !/^src\/(?:lib|telemetry|settings)\//.test(path),
  )
  const entries = relevant.filter((path, index) => path !== relevant[index - 1])
  const order = [...new Set(entries)]
  const folders = new Set(order.map((path) => path.slice(0, path.lastIndexOf('/'))))
  return {
    files: order.length,
    entries: entries.length,
    returns: entries.length - order.length,
    folders: folders.size,
    order,
  }
}
