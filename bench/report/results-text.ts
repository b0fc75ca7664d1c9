const COLUMNS = 100

/** The results as JSON, formatted as Biome does: lists of samples fill their lines. */
export function resultsText(results: object): string {
  const text = JSON.stringify(results, rounded, 2)
  const list = /^( *)("\w+": )\[\s*([\d.,\s]+?)\s*\](,?)$/gm
  const shorter = text.replace(
    list,
    (...[, indent = '', key = '', samples = '', end = '']: string[]) =>
      listText({ indent, key, samples: samples.split(/,\s*/), end }),
  )
  return `${shorter}\n`
}

interface List {
  readonly indent: string
  readonly key: string
  readonly samples: readonly string[]
  readonly end: string
}

function listText({ indent, key, samples, end }: List): string {
  const short = `${indent}${key}[${samples.join(', ')}]${end}`
  if (short.length <= COLUMNS) return short
  const lines = ['']
  for (const [n, sample] of samples.entries()) {
    const word = n === samples.length - 1 ? sample : `${sample},`
    const line = lines.at(-1) ?? ''
    if (line === '') lines[lines.length - 1] = `${indent}  ${word}`
    else if (line.length + 1 + word.length <= COLUMNS) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(`${indent}  ${word}`)
  }
  return `${indent}${key}[\n${lines.join('\n')}\n${indent}]${end}`
}

/** Rounds numbers: a tenth of a microsecond is precise enough. */
function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Math.round(value * 10_000) / 10_000 : value
}
