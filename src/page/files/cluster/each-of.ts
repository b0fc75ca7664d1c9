/** Runs a task for each item, with a limit of tasks at the same time. `task` must not throw. */
export async function eachOf<T>(
  items: readonly T[],
  atOnce: number,
  task: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values()
  const work = async (): Promise<void> => {
    for (const item of rest) await task(item)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work))
}
