/** Runs a step, and prints what it does and how long it took: `docker: building … done in 12 s`. */
export async function step<T>(who: string, what: string, act: () => Promise<T>): Promise<T> {
  process.stderr.write(`${who}: ${what} … `)
  const began = performance.now()
  let how = 'failed after'
  try {
    const result = await act()
    how = 'done in'
    return result
  } finally {
    process.stderr.write(`${how} ${Math.round((performance.now() - began) / 1_000)} s\n`)
  }
}
