/**
 * Start of the real host with and without the plugin.
 *
 * Role: `benchHostBoot()` gives one row; run alone it prints it. From the start of the process
 * until all rows of the profile are active, both sides in turn. Installs the host when needed,
 * which takes a network and a while the first time.
 */
import {
  createHome,
  hostSupport,
  installHost,
  packPlugin,
  removeHome,
  startHost,
  startScriptedModel,
} from '../test/support/host/index.mjs'
import { isMainModule, median, printRows } from './report.mjs'

/**
 * @param {{ rounds?: number }} [options]
 * @returns {Promise<import('./report.mjs').BenchRow[]>} none where the host cannot run.
 */
export async function benchHostBoot({ rounds = 9 } = {}) {
  if (!hostSupport().supported) return []
  await installHost()
  const homes = {
    with: await createHome({ plugins: [await packPlugin()] }),
    without: await createHome(),
  }
  const model = await startScriptedModel()
  try {
    const times = { with: [], without: [] }
    for (let round = 0; round <= rounds; round += 1) {
      for (const side of ['with', 'without']) {
        const ms = await boot(homes[side], model)
        // The first start fills the host's caches.
        if (round > 0) times[side].push(ms)
      }
    }
    const [ours, bare] = [median(times.with), median(times.without)]
    return [
      {
        name: 'boot of the host with the plugin, over the boot without it',
        value: ours / bare,
        ratio: ours / bare,
        unit: 'x',
        detail: `${ours.toFixed(0)} ms, without ${bare.toFixed(0)} ms`,
        passed: true,
      },
    ]
  } finally {
    await model.close()
    for (const home of Object.values(homes)) await removeHome(home)
  }
}

async function boot(home, model) {
  const started = performance.now()
  const host = await startHost({ home, model })
  const ms = performance.now() - started
  await host.exit()
  return ms
}

if (isMainModule(import.meta.url)) printRows(await benchHostBoot())
