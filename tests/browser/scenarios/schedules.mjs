// Schedules: what comes next, paused, resumed, and run now.

export default async function ({ visitor }) {
    const anna = await visitor();
    await anna.goes('/');
    await anna.follows('Schedules');
    await anna.seesPage('Schedules');
    const nightly = anna.inRow('nightly');
    await nightly.sees('30 2 * * *');
    await anna.picture('schedules');
    await nightly.presses('Pause: nightly');
    await nightly.seesThe('button', 'Resume: nightly');
    await nightly.sees('paused');
    await anna.picture('one paused');
    await nightly.presses('Resume: nightly');
    await nightly.seesThe('button', 'Pause: nightly');
    await nightly.presses('Run now: nightly');
    await anna.goes('/');
    await anna.seesRow('Sweep the yard.', 'completed, claimed');
    await anna.goes('/schedules');
    await nightly.seesThe('button', 'Run now: nightly');
}
