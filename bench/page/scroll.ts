import type { Page } from 'playwright-core'

/** What a script of the page counts while it scrolls. */
export interface Scrolled {
  readonly frameP99Ms: number
  readonly longTasks: number
}

/**
 * Scrolls the table from the first row to the last, each frame by a hundredth of the way, and measures how long the
 * scripts, styles and layout of each frame took.
 */
export async function scrollTable(page: Page): Promise<Scrolled> {
  return page.evaluate<Scrolled>(SCRIPT)
}

/** A script for the browser, as text because this project does not have the types of browsers. */
const SCRIPT = `(async () => {
  const grid = document.querySelector('.grid')
  let longTasks = 0
  const observer = new PerformanceObserver((list) => { longTasks += list.getEntries().length })
  observer.observe({ entryTypes: ['longtask'] })
  const frames = []
  for (let step = 1; step <= 100; step++) {
    grid.scrollTop = grid.scrollHeight * step / 100
    frames.push(await new Promise((resolve) => requestAnimationFrame((start) => {
      const channel = new MessageChannel()
      channel.port1.onmessage = () => resolve(performance.now() - start)
      channel.port2.postMessage(null)
    })))
  }
  await new Promise((resolve) => setTimeout(resolve, 100))
  observer.disconnect()
  frames.sort((a, b) => a - b)
  return { frameP99Ms: frames[98], longTasks }
})()`
