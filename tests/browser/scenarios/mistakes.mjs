// A request that cannot be taken: the form says why, and keeps what was typed.

export default async function ({ visitor }) {
    const anna = await visitor();
    await anna.goes('/new');
    await anna.types('Objective', 'Paint the fence.');
    await anna.types('Verify', 'test -e painted');
    await anna.opens('More fields');
    await anna.picture('all fields');
    // Past what the browser itself would refuse.
    await anna.page.locator('form').evaluateAll((forms) => forms.forEach((form) => (form.noValidate = true)));
    await anna.types('Max iterations', '0');
    anna.manners.foresee(422);
    await anna.presses('Submit');
    await anna.page.getByRole('alert').filter({ hasText: 'max_iterations' }).waitFor();
    await anna.seesPage('New request');
    await anna.finds('Objective', 'Paint the fence.');
    await anna.finds('Verify', 'test -e painted');
    await anna.finds('Max iterations', '0');
    await anna.picture('refused');

    await anna.types('Max iterations', '3');
    await anna.presses('Submit');
    await anna.seesPage('Paint the fence.');
}
